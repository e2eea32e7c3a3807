// A summary of a day: how often threads of each name were seen with each call chain, over the hours of one series of a
// session. It stores the meaning of an epoch's numbers by content, so that all its hours are counted as one epoch.
//
// It replaces the rows of its hours in queries whose time covers all of them, as long as each hour is unchanged: the
// same rows, and the same task rows and definitions of their epochs. Byte layout, golden bytes and reasons:
// storage/FORMAT.md. Plain values; what is decoded is untrusted bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/model/keys.h"
#include "storage/model/row_cover.h"
#include "storage/number/weight_total.h"

namespace perfleet {

inline constexpr std::int64_t kHoursPerDay = 24;
[[nodiscard]] constexpr std::uint32_t day_of(BucketNumber bucket) {
    static_assert(kBucketDurationS * kHoursPerDay == 86'400);
    return static_cast<std::uint32_t>(bucket.value / kHoursPerDay);
}

// Whether rows of this kind give meaning to others: names of threads, chains, images.
[[nodiscard]] constexpr bool gives_meaning(Kind kind) { return kind == Kind::kTask || is_definition(kind); }

// The rows of one epoch in one partition.
struct DayHour {
    Partition partition;
    RowCover rows;     // rows of the series that are in the sums
    RowCover meaning;  // all rows of the epoch whose kind gives_meaning(); the same epoch

    friend bool operator==(const DayHour&, const DayHour&) = default;
};

// Rows with one call chain.
struct StackSum {
    StackNumber stack;
    std::uint64_t row_count = 0;  // at least 1
    std::uint64_t weight = 0;     // of all rows, modulo 2^64

    friend bool operator==(const StackSum&, const StackSum&) = default;
};

// The sums of a name are consecutive in `sums`; each name states where its sums end.
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
    WeightTotal weights;
    std::vector<DayHour> hours;           // ascending by (partition, epoch)
    std::vector<ImageDefinition> images;  // ascending
    std::vector<Node> nodes;              // node n is nodes[n - 1]; ascending; a caller precedes its callees
    std::vector<Name> names;              // ascending by text
    std::vector<StackSum> sums;           // of a name ascending by stack, which is a node's number, or 0: no frames

    friend bool operator==(const DaySummary&, const DaySummary&) = default;
};

// Equal summaries give equal bytes.
[[nodiscard]] std::string encode_summary(const DaySummary& summary);

// The result satisfies everything that the comments above say. Errors: as decode_dictionary_untrusted.
[[nodiscard]] Result<DaySummary> decode_summary_untrusted(std::string_view bytes_untrusted);

// The meaning of its stack and image numbers. Errors: kInvalid (a chain of more than limits::kStackChainMax nodes).
[[nodiscard]] Result<EpochDictionary> dictionary_of(const DaySummary& summary);

}  // namespace perfleet
