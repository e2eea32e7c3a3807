// A summary of a day: how often threads of each name were seen with each call chain, over the hours of one series of a
// session. It says by content what an epoch's numbers mean, so all its hours are counted as one epoch.
//
// It stands for the rows of its hours where all of them lie in the time that is asked for, as long as each hour is what
// it was: the same rows, and the same task rows and definitions of their epochs. Byte layout, golden bytes and why it
// is so: storage/FORMAT.md. Plain values; what is decoded is untrusted bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/model/keys.h"
#include "storage/model/row_cover.h"
#include "storage/summary/stack_sum.h"

namespace perfleet {

inline constexpr std::int64_t kHoursPerDay = 24;
[[nodiscard]] constexpr std::uint32_t day_of(BucketNumber bucket) {
    static_assert(kBucketDurationS * kHoursPerDay == 86'400);
    return static_cast<std::uint32_t>(bucket.value / kHoursPerDay);
}

// Whether rows of this kind say what others mean: names of threads, chains, images.
[[nodiscard]] constexpr bool gives_meaning(Kind kind) { return kind == Kind::kTask || is_definition(kind); }

// The rows of one epoch in one partition.
struct DayHour {
    Partition partition;
    RowCover rows;     // of the series that are in the sums
    RowCover meaning;  // all that the epoch had of rows that gives_meaning(); the same epoch

    friend bool operator==(const DayHour&, const DayHour&) = default;
};

// Sums of a name follow each other in `sums`; each tells where its own end.
struct DaySummary {
    struct Node {
        std::uint32_t parent = 0;  // the caller's number; 0: none
        std::uint32_t image = 0;   // index
        std::uint64_t offset = 0;

        friend auto operator<=>(const Node&, const Node&) = default;
    };
    struct Name {
        std::string text;
        std::uint32_t sums_end = 0;

        friend bool operator==(const Name&, const Name&) = default;
    };

    std::uint64_t row_count = 0;
    Ticks first_ticks;  // of its rows, both included
    Ticks last_ticks;
    std::vector<DayHour> hours;           // ascending by (partition, epoch)
    std::vector<ImageDefinition> images;  // ascending
    std::vector<Node> nodes;              // node n is nodes[n - 1]; ascending; a caller stands before what it calls
    std::vector<Name> names;              // ascending by text
    std::vector<StackSum> sums;           // of a name ascending by stack, which is a node's number, or 0: no frames

    friend bool operator==(const DaySummary&, const DaySummary&) = default;
};

// Equal summaries give equal bytes.
[[nodiscard]] std::string encode_summary(const DaySummary& summary);

// Everything that the comments above promise holds in what it gives. Errors: as decode_dictionary_untrusted.
[[nodiscard]] Result<DaySummary> decode_summary_untrusted(std::string_view bytes_untrusted);

// What its stack and image numbers mean. Errors: kInvalid, a chain of more than limits::kStackChainMax nodes.
[[nodiscard]] Result<EpochDictionary> dictionary_of(const DaySummary& summary);

}  // namespace perfleet
