#include "storage/summary/stack_sum.h"

#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

// The weight per row if all rows have the same; else 0.
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

template <class Io, class Sums>
void sums_columns(Io& io, Sums& sums, std::uint64_t weight_each) {
    io.rows(sums, limits::kSummaryTableRowsMax);
    io.column(sums, [](auto& sum) { return &sum.stack.value; });
    io.column(sums, [](auto& sum) { return &sum.row_count; });
    if (weight_each == 0) {
        io.column(sums, [](auto& sum) { return &sum.weight; });
    }
}

}  // namespace

void write_sums(RecordWriter& writer, std::span<const StackSum> sums) {
    const std::uint64_t weight_each = weight_of_each(sums);
    writer.varint(weight_each);
    sums_columns(writer, sums, weight_each);
}

void read_sums(RecordReader& reader, std::vector<StackSum>& sums) {
    const std::uint64_t weight_each = reader.varint();
    sums_columns(reader, sums, weight_each);
    for (StackSum& sum : sums) {
        sum.weight = weight_each == 0 ? sum.weight : weight_each * sum.row_count;
    }
}

std::uint64_t check_sums(RecordReader& reader, std::span<const StackSum> sums, std::size_t begin, std::size_t end) {
    if (begin >= end || end > sums.size()) {
        reader.fail(ErrorCode::kInvalid, "no sums where some are expected");
        return 0;
    }
    std::uint64_t row_count = 0;
    for (std::size_t i = begin; i < end; ++i) {
        const std::uint64_t before = row_count;
        row_count += sums[i].row_count;
        if (row_count <= before || (i > begin && sums[i].stack <= sums[i - 1].stack)) {
            reader.fail(ErrorCode::kInvalid, "a sum of no rows, of too many, or out of order");
        }
    }
    return row_count;
}

}  // namespace perfleet
