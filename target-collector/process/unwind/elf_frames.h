// The parts of an ELF image for unwinding: .eh_frame, .debug_frame, and the file offsets of its code.
//
// A small parser with limits on everything, because it reads any program that a host runs. Only 64-bit little-endian
// images of x86-64 and AArch64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/process/unwind/unwind_rule.h"

namespace perfleet {

inline constexpr std::size_t kFrameSectionBytesMax = 32U << 20U;

// Fills `into` from an offset of the image; false: failed. Called only with ranges within its size.
using ReadImage = std::function<bool(std::uint64_t offset, std::span<std::byte> into)>;

struct CodeSegment {
    std::uint64_t address = 0;  // as linked
    std::uint64_t size_bytes = 0;
    std::uint64_t file_offset = 0;
};

struct FrameSection {
    std::vector<std::byte> bytes;
    std::uint64_t address = 0;    // as linked
    bool is_debug_frame = false;  // else .eh_frame
};

struct ElfFrames {
    UnwindMachine machine{};
    std::vector<CodeSegment> code;
    std::vector<FrameSection> sections;
    std::uint64_t entry = 0;  // entry point of the program, as linked; 0: none
};

// Errors: kInvalid (no ELF image, or a broken one), kUnsupported (another machine), kTooLarge, kNotFound (no unwind
// information), kIo.
[[nodiscard]] Result<ElfFrames> read_elf_frames(const ReadImage& read, std::uint64_t size_bytes);

}  // namespace perfleet
