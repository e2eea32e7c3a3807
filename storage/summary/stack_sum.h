// Sums of rows by call chain, as columns of a record.
//
// Byte layout: storage/FORMAT.md. Decoded sums are untrusted until check_sums() has passed; the reader fails if it
// doesn't pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/columns/seal.h"
#include "storage/model/record_bytes.h"

namespace perfleet {

// Rows with one call chain.
struct StackSum {
    StackNumber stack;
    std::uint64_t row_count = 0;  // at least 1
    std::uint64_t weight = 0;     // of all rows, modulo 2^64

    friend bool operator==(const StackSum&, const StackSum&) = default;
};

void write_sums(RecordWriter& writer, std::span<const StackSum> sums);
void read_sums(RecordReader& reader, std::vector<StackSum>& sums);
// Checks sums `begin` to `end`: at least one, ascending by stack. Returns their rows.
[[nodiscard]] std::uint64_t check_sums(RecordReader& reader, std::span<const StackSum> sums, std::size_t begin,
                                       std::size_t end);

}  // namespace perfleet
