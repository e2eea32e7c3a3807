#include "storage/rollup/rollup_record.h"

#include <string>

#include "storage/store_limits.h"

namespace perfleet {

void write_bounds(RecordWriter& writer, const CellBounds& bounds, Ticks before) {
    writer.signed_varint(bounds.number);
    writer.varint(bounds.from.value - before.value);
    writer.varint(bounds.until.value - bounds.from.value);
}

CellBounds read_bounds(RecordReader& reader, const CellBounds* before) {
    CellBounds bounds;
    bounds.number = reader.signed_varint();
    bounds.from = Ticks{sum_of(reader, before == nullptr ? 0 : before->until.value, reader.varint())};
    bounds.until = Ticks{sum_of(reader, bounds.from.value, reader.varint())};
    if (before != nullptr && bounds.number <= before->number) {
        reader.fail(ErrorCode::kInvalid, "cells out of order");
    }
    return bounds;
}

std::uint64_t weight_of_each(std::span<const StackSum> sums) {
    std::uint64_t each = 0;
    for (const StackSum& sum : sums) {
        const std::uint64_t one = sum.weight / sum.row_count;
        if (one == 0 || one * sum.row_count != sum.weight || (each != 0 && one != each)) {
            return 0;
        }
        each = one;
    }
    return each;
}

void write_sums(RecordWriter& writer, std::span<const StackSum> sums, std::uint64_t weight_each) {
    writer.varint(sums.size());
    std::uint64_t next = 0;
    for (const StackSum& sum : sums) {
        writer.varint(sum.stack.value - next);
        next = std::uint64_t{sum.stack.value} + 1;
        writer.varint(sum.row_count);
        if (weight_each == 0) {
            writer.varint(sum.weight);
        }
    }
}

std::uint64_t read_sums(RecordReader& reader, std::uint64_t weight_each, std::vector<StackSum>& sums) {
    constexpr std::uint64_t kStackMax = 0xffff'ffff;
    const std::uint64_t count = reader.varint(limits::kRollupSizeBytesMax);
    if (count == 0) {
        reader.fail(ErrorCode::kInvalid, "no sums where some are expected");
    }
    std::uint64_t row_count = 0;
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < count && !reader.has_failed(); ++i) {
        StackSum sum;
        const std::uint64_t stack = next + reader.varint(kStackMax);
        sum.stack = StackNumber{static_cast<std::uint32_t>(stack)};
        next = stack + 1;
        sum.row_count = reader.varint();
        sum.weight = weight_each == 0 ? reader.varint() : weight_each * sum.row_count;
        row_count = sum_of(reader, row_count, sum.row_count);
        if (stack > kStackMax || sum.row_count == 0) {
            reader.fail(ErrorCode::kInvalid, "a sum of no rows, or of no stack");
        }
        sums.push_back(sum);
    }
    return row_count;
}

}  // namespace perfleet
