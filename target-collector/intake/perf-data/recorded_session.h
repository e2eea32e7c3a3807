// The description of a recording in a perf.data file: events, host, build-ids, formats of tracepoints. A file has them
// in its sections, a pipe in separate records.
//
// Bounded: at most kSectionSizeBytesMax of each section, limits::kEventsMax events, kBuildIdsMax build-ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/intake/perf-data/record_source.h"
#include "target-collector/intake/perf-data/recorded_event.h"
#include "target-collector/intake/perf-data/recorded_symbols.h"

namespace perfleet {

class RecordedSession {
public:
    static constexpr std::uint64_t kSectionSizeBytesMax = 64U << 20;
    static constexpr std::size_t kBuildIdsMax = 1U << 20;

    explicit RecordedSession(bool is_foreign) : is_foreign_{is_foreign} {}

    // Reads all sections of a file. Errors: kInvalid, kUnsupported, naming the offset. A damaged feature is left out,
    // with a warning.
    [[nodiscard]] Result<Done> read_sections(const FileBytes& file, const PerfDataHeader& header);

    // The records of a pipe. `body`: without the record's header. False: the record is malformed.
    [[nodiscard]] bool take_attr(std::span<const std::byte> body);
    [[nodiscard]] bool take_event_update(std::span<const std::byte> body);
    [[nodiscard]] bool take_build_id(std::uint16_t misc, std::span<const std::byte> body);
    [[nodiscard]] bool take_feature(unsigned number, std::span<const std::byte> section);
    [[nodiscard]] bool take_tracing_data(std::span<const std::byte> bytes);
    // For simpleperf.
    [[nodiscard]] bool take_event_ids(std::span<const std::byte> body);
    [[nodiscard]] bool take_kallsyms(std::span<const std::byte> body);

    // Sets names and formats of events; called after all records with them were taken.
    void name_events();

    std::vector<RecordedEvent> events;
    HostRecord host;
    std::string host_name;
    std::string architecture;
    std::string perf_version;
    bool is_unfinished = false;  // nothing is known of the host: the sections that describe it were never written
    std::map<std::string, std::string, std::less<>> build_ids;  // by path
    struct ClockPair {
        std::uint32_t clock_id = 0;
        std::int64_t utc_ns = 0;
        std::uint64_t ticks = 0;
    };
    std::optional<ClockPair> clock_pair;
    std::uint64_t first_ns = 0;  // SAMPLE_TIME; 0: not recorded
    std::uint64_t last_ns = 0;
    std::map<std::string, std::string, std::less<>> meta;  // simpleperf's META_INFO
    RecordedSymbolsByPath symbols;                         // simpleperf's; by the paths of mappings
    std::string kallsyms;                                  // likewise; empty: not in the file
    std::vector<std::string> warnings;

private:
    [[nodiscard]] Result<Done> read_attrs(const FileBytes& file, const PerfDataHeader& header);
    [[nodiscard]] bool take_event_descriptions(std::span<const std::byte> section);
    [[nodiscard]] bool take_groups(std::span<const std::byte> section);
    [[nodiscard]] bool take_build_ids(std::span<const std::byte> section);
    [[nodiscard]] bool take_meta_info(std::span<const std::byte> section);
    void name_events_of_meta_info();

    bool is_foreign_;
    struct Format {
        std::string name;  // "system:event"
        std::string text;
    };
    std::map<std::uint64_t, Format> formats_;  // by the number after "ID:"
};

}  // namespace perfleet
