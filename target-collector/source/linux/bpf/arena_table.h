// Writes and reads unwind tables in the arena that a BPF program searches (unwind_layout.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/process/unwind/unwind_table.h"
#include "target-collector/source/linux/bpf/unwind_layout.h"

namespace perfleet {

// Rounds a size up to a multiple of an element's, so that no element crosses slabs.
[[nodiscard]] std::uint32_t arena_aligned(std::size_t size_bytes);

// Size of a table with rows, in bytes.
[[nodiscard]] std::uint64_t arena_table_bytes(const UnwindTable& table);

// Writes the table at `at`, an aligned offset with enough space after it, in slabs of UNWIND_SLAB_BYTES. Sets all of
// `into` except its state and time of use.
void write_arena_table(const UnwindTable& table, std::uint32_t at, std::span<std::byte* const> slabs,
                       unwind_table& into);

// UnwindTable::find() on the table in the arena.
[[nodiscard]] UnwindRule rule_in_arena(const unwind_table& table, std::span<std::byte* const> slabs,
                                       std::uint64_t file_offset);

}  // namespace perfleet
