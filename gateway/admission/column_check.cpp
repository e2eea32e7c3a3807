#include "gateway/admission/column_check.h"

#include <cstring>
#include <string>

#include "schemas/columns/bounds.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {
namespace {

std::string name_of(const SeriesView& rows, ColumnId id) {
    return std::string{kind_name(rows.series.kind)} + " column " + std::string{column_name(id)} + " (" +
           std::to_string(static_cast<unsigned>(id)) + ")";
}

Error invalid(const SeriesView& rows, ColumnId id, const std::string& what) {
    return Error{ErrorCode::kInvalid, name_of(rows, id) + " " + what};
}

const ColumnView* find(const SeriesView& rows, ColumnId id) {
    for (const ColumnView& column : rows.columns) {
        if (column.id == id) {
            return &column;
        }
    }
    return nullptr;
}

Error fault_of(const ColumnView& column, const Fault& fault) {
    return error_from_fault(fault, std::string{"column "} + std::string{column_name(column.id)});
}

bool has_known_codec(const ColumnView& column) {
    return column.codec >= Codec::kFrameOfReference && column.codec <= kNewestCodec;
}

}  // namespace

Result<Done> ColumnCheck::check(const SeriesView& rows_untrusted) {
    const SeriesView& rows = rows_untrusted;
    for (std::size_t i = 0; i < rows.columns.size(); ++i) {
        const ColumnView& column = rows.columns[i];
        if (!has_known_codec(column)) {
            return Error{ErrorCode::kUnsupported, name_of(rows, column.id) + " has the unknown codec " +
                                                      std::to_string(static_cast<unsigned>(column.codec))};
        }
        for (std::size_t j = 0; j < i; ++j) {
            if (rows.columns[j].id == column.id) {
                return invalid(rows, column.id, "is there twice");
            }
        }
    }
    for (const ColumnRule& rule : columns_of(rows.series.kind)) {
        const ColumnView* column = find(rows, rule.id);
        if (column == nullptr) {
            return invalid(rows, rule.id, "is missing");
        }
        PERFLEET_TRY(rule.shape == ColumnShape::kInteger ? check_integers(rows, rule, *column)
                                                         : check_bytes(rows, rule, *column));
    }
    if (!has_time(rows.series.kind) && rows.first_ticks != rows.last_ticks) {
        return Error{ErrorCode::kInvalid, std::string{kind_name(rows.series.kind)} +
                                              " rows have no time, but first and last ticks that differ"};
    }
    return rows.series.kind == Kind::kStack ? check_parents(rows) : Result<Done>{Done{}};
}

Result<Done> ColumnCheck::decode(const ColumnView& column, std::uint32_t row_count,
                                 std::vector<std::uint64_t>& into) const {
    into.resize(row_count);
    if (auto decoded = decode_integers(column.codec, column.bytes, into); !decoded) {
        return fault_of(column, decoded.error());
    }
    return Done{};
}

Result<Done> ColumnCheck::check_integers(const SeriesView& rows, const ColumnRule& rule, const ColumnView& column) {
    PERFLEET_ASSERT(rows.row_count > 0);
    const ValueBounds limits{rule.min, rule.max};
    const auto bounds = rule.id == ColumnId::kTime ? bounds_of_integers(column.codec, column.bytes, rows.row_count)
                                                   : bounds_within(column.codec, column.bytes, rows.row_count, limits);
    if (!bounds) {
        return fault_of(column, bounds.error());
    }
    if (bounds->max > limits.max || bounds->min < limits.min) {
        return invalid(rows, rule.id,
                       "holds " + std::to_string(bounds->max > limits.max ? bounds->max : bounds->min) +
                           ", which is out of range");
    }
    if (rule.id == ColumnId::kTime && (bounds->min != rows.first_ticks.value || bounds->max != rows.last_ticks.value)) {
        return invalid(rows, rule.id, "has other first and last ticks than the series says");
    }
    return Done{};
}

Result<Done> ColumnCheck::check_bytes(const SeriesView& rows, const ColumnRule& rule, const ColumnView& column) {
    if (column.codec != Codec::kBytes) {
        return invalid(rows, rule.id, "is bytes, but has the codec of integers");
    }
    if (column.bytes.size() > limits::kSeriesBytesMax) {
        return Error{ErrorCode::kTooLarge, name_of(rows, rule.id) + " holds " + std::to_string(column.bytes.size()) +
                                               " bytes, at most " + std::to_string(limits::kSeriesBytesMax) +
                                               " are allowed"};
    }
    const ColumnView* sizes = find(rows, rule.sizes);
    if (sizes == nullptr) {
        return invalid(rows, rule.sizes, "is missing");
    }
    PERFLEET_TRY(decode(*sizes, rows.row_count, values_));
    std::uint64_t sum = 0;
    for (const std::uint64_t size : values_) {
        if (size > column.bytes.size()) {
            return invalid(rows, rule.sizes, "holds a size past its bytes");
        }
        sum += size;
    }
    if (sum != column.bytes.size()) {
        return invalid(
            rows, rule.sizes,
            "adds up to " + std::to_string(sum) + ", but there are " + std::to_string(column.bytes.size()) + " bytes");
    }
    if (rule.id == ColumnId::kNameBytes && !column.bytes.empty() &&
        std::memchr(column.bytes.data(), 0, column.bytes.size()) != nullptr) {
        return invalid(rows, rule.id, "holds a NUL");
    }
    return Done{};
}

Result<Done> ColumnCheck::check_parents(const SeriesView& rows) {
    const ColumnView* numbers = find(rows, ColumnId::kNumber);
    const ColumnView* parents = find(rows, ColumnId::kParent);
    PERFLEET_ASSERT(numbers != nullptr && parents != nullptr);
    PERFLEET_TRY(decode(*numbers, rows.row_count, numbers_));
    PERFLEET_TRY(decode(*parents, rows.row_count, values_));
    for (std::size_t row = 0; row < numbers_.size(); ++row) {
        if (values_[row] >= numbers_[row]) {
            return invalid(rows, ColumnId::kParent,
                           "holds " + std::to_string(values_[row]) + " for node " + std::to_string(numbers_[row]) +
                               "; a parent comes before its children");
        }
    }
    return Done{};
}

}  // namespace perfleet
