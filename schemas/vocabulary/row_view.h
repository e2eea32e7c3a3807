// A row on its way from a source into columns.
//
// Freestanding. Borrowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

struct RowView {
    Series series;
    Ticks time;  // of kinds without a time: the present time
    // One for each other kInteger column of columns_of(series.kind), in that order (sizes of bytes included).
    std::span<const std::uint64_t> integers;
    std::span<const std::span<const std::byte>> bytes = {};  // one for each kBytes column
};

}  // namespace perfleet
