// The feature sections after the records of a perf.data file: the host, the events, and the clock of the recording.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exporters/rows/event_table.h"
#include "schemas/perf/perf_event.h"
#include "schemas/session/session_record.h"

namespace perfleet {

// One section: its bit and its bytes.
using FeatureSection = std::pair<perf::Feature, std::string>;

struct ExportedBuildId {
    bool is_kernel = false;
    std::string build_id;  // raw bytes, at most 20
    std::string name;      // as in the mappings
};

struct ExportedTimes {
    std::uint64_t first_ns = 0;  // of the samples, on the file's clock
    std::uint64_t last_ns = 0;
    ClockPoint clock_point;  // that file's clock, in ns, and UTC
};

// Ascending by bit. `host` is the session whose machine is described. Unknown features are omitted.
[[nodiscard]] std::vector<FeatureSection> feature_sections(const SessionRecord& host,
                                                           std::span<const ExportedEvent> events,
                                                           std::span<const ExportedGroup> groups,
                                                           std::span<const ExportedBuildId> build_ids,
                                                           const std::optional<ExportedTimes>& times);

}  // namespace perfleet
