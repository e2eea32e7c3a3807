// Decodes the columns of one series once and checks every value against the rule of its column.
//
// One thread; keeps its memory for the next series.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class ColumnCheck {
public:
    // The kind of `rows_untrusted` is known and its row count is within limits. Checks that exactly the columns of its
    // kind are present, once each (columns with unknown ids are accepted, but not decoded); that each decodes to the
    // stated number of rows within its limits; that sizes add up to their byte column; that definitions are numbered
    // correctly; that first and last ticks are those of the rows. Errors: kInvalid, kTooLarge, kTruncated,
    // kUnsupported, naming the column.
    [[nodiscard]] Result<Done> check(const SeriesView& rows_untrusted);

private:
    [[nodiscard]] Result<Done> check_integers(const SeriesView& rows, const ColumnRule& rule, const ColumnView& column);
    [[nodiscard]] Result<Done> check_bytes(const SeriesView& rows, const ColumnRule& rule, const ColumnView& column);
    [[nodiscard]] Result<Done> check_parents(const SeriesView& rows);
    [[nodiscard]] Result<Done> decode(const ColumnView& column, std::uint32_t row_count,
                                      std::vector<std::uint64_t>& into) const;

    std::vector<std::uint64_t> values_;
    std::vector<std::uint64_t> numbers_;  // numbers that this series defines
};

}  // namespace perfleet
