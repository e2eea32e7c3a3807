#include "schemas/vocabulary/kinds.h"

#include <gtest/gtest.h>

#include <set>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/named_row.h"

namespace perfleet {
namespace {

TEST(Kinds, EveryKindHasColumnsWithinTheLimit) {
    for (std::uint8_t raw = kKindFirst; raw <= kKindLast; ++raw) {
        const auto columns = columns_of(static_cast<Kind>(raw));
        EXPECT_FALSE(columns.empty()) << int{raw};
        EXPECT_LE(columns.size(), limits::kColumnsMax);
        EXPECT_NE(kind_name(static_cast<Kind>(raw)), "unknown");
    }
}

TEST(Kinds, AColumnStandsOnceAndHasAName) {
    for (std::uint8_t raw = kKindFirst; raw <= kKindLast; ++raw) {
        std::set<ColumnId> seen;
        for (const ColumnRule& rule : columns_of(static_cast<Kind>(raw))) {
            EXPECT_TRUE(seen.insert(rule.id).second);
            EXPECT_NE(column_name(rule.id), "unknown");
        }
    }
}

TEST(Kinds, SizesOfAByteColumnStandBeforeIt) {
    for (std::uint8_t raw = kKindFirst; raw <= kKindLast; ++raw) {
        std::set<ColumnId> seen;
        for (const ColumnRule& rule : columns_of(static_cast<Kind>(raw))) {
            if (rule.shape == ColumnShape::kBytes) {
                EXPECT_TRUE(seen.contains(rule.sizes));
            }
            seen.insert(rule.id);
        }
    }
}

TEST(Kinds, RowsWithTimeHaveItFirst) {
    for (std::uint8_t raw = kKindFirst; raw <= kKindLast; ++raw) {
        const Kind kind = static_cast<Kind>(raw);
        EXPECT_EQ(columns_of(kind)[0].id, has_time(kind) ? ColumnId::kTime : ColumnId::kNumber);
    }
}

TEST(NamedRow, HasEachValueInItsColumnAndZeroInTheOthers) {
    const auto row = row_of<Kind::kTracepoint>(column<ColumnId::kValue>(7), column<ColumnId::kCpu>(3));
    std::size_t place = 0;
    for (const ColumnRule& rule : columns_of(Kind::kTracepoint)) {
        if (rule.id != ColumnId::kTime && rule.shape == ColumnShape::kInteger) {
            EXPECT_EQ(row[place++], rule.id == ColumnId::kValue ? 7U
                                    : rule.id == ColumnId::kCpu ? 3U
                                                                : 0U)
                << column_name(rule.id);
        }
    }
    EXPECT_EQ(place, row.size());
}

TEST(Kinds, AnUnknownOneHasNoColumns) {
    const auto newer = static_cast<Kind>(kKindLast + 1);
    EXPECT_EQ(kind_name(newer), "unknown");
    EXPECT_TRUE(columns_of(newer).empty());
    EXPECT_EQ(column_rule(Kind::kSample, ColumnId::kValue), nullptr);
}

}  // namespace
}  // namespace perfleet
