#include "schemas/columns/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {
namespace {

TEST(Layout, EveryKindHasColumnsWithinTheLimit) {
    for (std::uint8_t raw = kKindFirst; raw <= kKindLast; ++raw) {
        const auto columns = columns_of(static_cast<Kind>(raw));
        EXPECT_FALSE(columns.empty()) << int{raw};
        EXPECT_LE(columns.size(), limits::kColumnsMax);
        EXPECT_NE(kind_name(static_cast<Kind>(raw)), "unknown");
    }
}

TEST(Layout, AColumnStandsOnceAndHasAName) {
    for (std::uint8_t raw = kKindFirst; raw <= kKindLast; ++raw) {
        std::set<ColumnId> seen;
        for (const ColumnRule& rule : columns_of(static_cast<Kind>(raw))) {
            EXPECT_TRUE(seen.insert(rule.id).second);
            EXPECT_NE(column_name(rule.id), "unknown");
        }
    }
}

TEST(Layout, SizesOfAByteColumnStandBeforeIt) {
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

TEST(Layout, RowsWithTimeHaveItFirst) {
    for (std::uint8_t raw = kKindFirst; raw <= kKindLast; ++raw) {
        const Kind kind = static_cast<Kind>(raw);
        EXPECT_EQ(columns_of(kind)[0].id, has_time(kind) ? ColumnId::kTime : ColumnId::kNumber);
    }
}

}  // namespace
}  // namespace perfleet
