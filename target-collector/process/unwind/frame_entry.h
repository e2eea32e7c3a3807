// The entries of .eh_frame and .debug_frame: CIEs, shared by many functions, and an FDE for each function (DWARF 5,
// 6.4.1; Linux Standard Base 5.0, 10.6).
//
// Borrows the section's bytes, which are untrusted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "target-collector/process/unwind/elf_frames.h"

namespace perfleet {

struct FrameCie {
    std::uint64_t code_alignment = 0;
    std::int64_t data_alignment = 0;
    std::uint64_t return_address_register = 0;
    std::uint8_t pointer_encoding = 0;  // of an FDE's addresses
    bool has_augmentation_size = false;
    bool is_signal_frame = false;
    std::span<const std::byte> instructions;
};

struct FrameFde {
    std::uint64_t address = 0;  // as linked
    std::uint64_t size_bytes = 0;
    std::uint32_t cie_index = 0;
    std::span<const std::byte> instructions;
};

struct FrameEntries {
    std::vector<FrameCie> cies;
    std::vector<FrameFde> fdes;
    std::uint64_t refused_count = 0;  // malformed entries, and those of unknown form
};

// Stops at an impossible length. At most kFrameSectionBytesMax / 16 entries.
[[nodiscard]] FrameEntries read_frame_entries(const FrameSection& section);

}  // namespace perfleet
