// Unwind tables in the arena that a BPF program searches (unwind_layout.h): how they are written, and read here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/process/unwind/unwind_table.h"
#include "target-collector/source/linux/bpf/unwind_layout.h"

namespace perfleet {

// Sizes of parts of the arena are multiples of an element's, so that no element lies across slabs.
[[nodiscard]] std::uint32_t arena_aligned(std::size_t size_bytes);

// What a table with rows takes.
[[nodiscard]] std::uint64_t arena_table_bytes(const UnwindTable& table);

// At `at`, an aligned place with so many bytes behind it, in slabs of UNWIND_SLAB_BYTES. Sets all of `into` but its
// state and when it was used.
void write_arena_table(const UnwindTable& table, std::uint32_t at, std::span<std::byte* const> slabs,
                       unwind_table& into);

// As UnwindTable::find() of the table that was written.
[[nodiscard]] UnwindRule rule_in_arena(const unwind_table& table, std::span<std::byte* const> slabs,
                                       std::uint64_t file_offset);

}  // namespace perfleet
