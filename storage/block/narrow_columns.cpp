#include "storage/block/narrow_columns.h"

#include <algorithm>
#include <limits>

#include "schemas/columns/visit_column.h"
#include "schemas/vocabulary/assert.h"
#include "storage/block/checked_column.h"

namespace perfleet {
namespace {

// Visits the column's values; on_values returns the OR of its values. Returns the OR of all: if it is within the
// column's limit, as mostly, every value is.
template <class OnValues, class OnRun>
Result<std::uint32_t> visit(const BlockView& block, ColumnId id, const OnValues& on_values, const OnRun& on_run) {
    const ColumnRule* rule = column_rule(block.header.series.kind, id);
    PERFLEET_ASSERT(rule != nullptr && rule->shape == ColumnShape::kInteger &&
                    rule->max <= std::numeric_limits<std::uint32_t>::max());
    const auto column = PERFLEET_TRY(checked_column(block, id));
    std::uint64_t bits = 0;
    const auto visited = visit_column(
        column->codec, column->bytes, block.header.row_count,
        [&](std::span<const std::uint64_t> values) { bits |= on_values(values); },
        [&](std::uint64_t length, std::uint64_t value) {
            bits |= value;
            on_run(length, value);
        });
    if (!visited.ok()) {
        return error_from_fault(visited.error(), "block: column " + std::string{column_name(id)});
    }
    if (bits > rule->max) {  // although each value may be within it
        DecodedRows rows;
        PERFLEET_TRY(rows.decode(block, std::span{&id, 1}));
    }
    return static_cast<std::uint32_t>(bits);
}

}  // namespace

Result<Done> decode_narrow(const BlockView& block, ColumnId id, NarrowColumn& column) {
    column.values.resize(block.header.row_count);
    std::uint32_t* out = column.values.data();
    const Result<std::uint32_t> bits = visit(
        block, id,
        [&](std::span<const std::uint64_t> values) {
            std::uint64_t chunk_bits = 0;
            std::uint32_t* const chunk = out;
            for (std::size_t i = 0; i < values.size(); ++i) {
                chunk_bits |= values[i];
                chunk[i] = static_cast<std::uint32_t>(values[i]);
            }
            out += values.size();
            return chunk_bits;
        },
        [&](std::uint64_t length, std::uint64_t value) {
            out = std::fill_n(out, length, static_cast<std::uint32_t>(value));
        });
    if (!bits.ok()) {
        return Error{bits.error()};
    }
    column.bits = *bits;
    return Done{};
}

Result<Done> decode_runs(const BlockView& block, ColumnId id, std::vector<ValueRun>& runs) {
    runs.clear();
    std::uint32_t end = 0;
    const Result<std::uint32_t> bits = visit(
        block, id,
        [&](std::span<const std::uint64_t> values) {
            std::uint64_t chunk_bits = 0;
            for (std::size_t i = 0; i < values.size();) {
                chunk_bits |= values[i];
                std::size_t next = i + 1;
                while (next < values.size() && values[next] == values[i]) {
                    ++next;
                }
                end += static_cast<std::uint32_t>(next - i);
                runs.push_back({end, static_cast<std::uint32_t>(values[i])});
                i = next;
            }
            return chunk_bits;
        },
        [&](std::uint64_t length, std::uint64_t value) {
            end += static_cast<std::uint32_t>(length);
            runs.push_back({end, static_cast<std::uint32_t>(value)});
        });
    return bits.ok() ? Result<Done>{Done{}} : Error{bits.error()};
}

}  // namespace perfleet
