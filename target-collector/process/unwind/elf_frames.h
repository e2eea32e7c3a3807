// The parts of an ELF image that say how to unwind it: .eh_frame, .debug_frame, and where its code stands in the file.
//
// A small reader with a bound on everything, for it reads whatever programs a host runs. Only 64-bit little-endian
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

// Fills `into` from an offset of the image; false: it can't. Called with ranges within its size only.
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
    std::uint64_t entry = 0;  // where the program begins, as linked; 0: nowhere
};

// Errors: kInvalid (no ELF image, or a broken one), kUnsupported (of another machine), kTooLarge, kNotFound (it has no
// unwind information), kIo.
[[nodiscard]] Result<ElfFrames> read_elf_frames(const ReadImage& read, std::uint64_t size_bytes);

}  // namespace perfleet
