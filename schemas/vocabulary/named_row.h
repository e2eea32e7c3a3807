// Builds a row's integers from the names of their columns, for sources: a kind can get a new column without a change of
// its sources.
//
// Freestanding. Columns are found at compile time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "schemas/vocabulary/kinds.h"

namespace perfleet {

template <ColumnId kId>
struct ColumnValue {
    std::uint64_t value = 0;
};

template <ColumnId kId>
[[nodiscard]] constexpr ColumnValue<kId> column(std::uint64_t value) {
    return {value};
}

[[nodiscard]] constexpr bool is_in_row(const ColumnRule& rule) {
    return rule.shape == ColumnShape::kInteger && rule.id != ColumnId::kTime;
}

// Index in RowView::integers; ~0 if rows of this kind have no such column.
template <Kind kKind, ColumnId kId>
[[nodiscard]] consteval std::size_t place_in_row() {
    std::size_t place = 0;
    for (const ColumnRule& rule : columns_of(kKind)) {
        if (rule.id == kId && is_in_row(rule)) {
            return place;
        }
        place += is_in_row(rule) ? 1 : 0;
    }
    return ~std::size_t{0};
}

// Columns that aren't named are set to 0.
template <Kind kKind, ColumnId... kIds>
[[nodiscard]] constexpr auto row_of(ColumnValue<kIds>... values) {
    constexpr auto kCount = std::count_if(columns_of(kKind).begin(), columns_of(kKind).end(), is_in_row);
    static_assert(((place_in_row<kKind, kIds>() < kCount) && ...), "rows of this kind don't have this column");
    std::array<std::uint64_t, kCount> row{};
    ((row[place_in_row<kKind, kIds>()] = values.value), ...);
    return row;
}

}  // namespace perfleet
