// Rows of samples: the same from kernel rings and from files.
//
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/records/sample_reader.h"

namespace perfleet {

// The data that make a row a detailed one, beside the sample itself.
struct RowDetails {
    std::span<const std::byte> raw;        // where the event isn't a tracepoint
    std::span<const std::uint64_t> chain;  // where stack nodes can't express it
};

struct SamplePlace {
    Ticks time;
    std::uint32_t cpu = 0;
    StackNumber stack;
};

// A row of `series`, of Kind::kSample or kTracepoint. With details: one of Kind::kDetailedSample, of the same event.
void append_sample_row(RowSink& sink, Series series, const SampleRecord& sample, const SamplePlace& place,
                       std::uint64_t weight, const std::optional<RowDetails>& details);

}  // namespace perfleet
