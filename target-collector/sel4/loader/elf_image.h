// The loadable parts of an ELF file: 64 bits, little-endian. Whatever its content, nothing outside the file is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/result.h"

namespace perfleet::sel4 {

struct ElfSegment {
    std::uint64_t address = 0;  // virtual
    std::uint64_t physical_address = 0;
    std::span<const std::byte> content{};
    std::uint64_t size_bytes = 0;  // in memory: bytes beyond the file's are zero
};

class ElfImage {
public:
    static constexpr std::size_t kSegmentsMax = 16;

    // Faults: kInvalid (not such an ELF file; where: the offset), kTruncated (a part ends beyond the file; where: its
    // number), kTooLarge (too many parts).
    [[nodiscard]] static Checked<ElfImage> open(std::span<const std::byte> file_untrusted);

    [[nodiscard]] std::uint64_t entry() const { return entry_; }
    // The parts with memory, in the file's order; at least one.
    [[nodiscard]] std::span<const ElfSegment> segments() const { return std::span{segments_}.first(count_); }
    // The range of all parts.
    [[nodiscard]] std::uint64_t begin() const;
    [[nodiscard]] std::uint64_t end() const;

private:
    std::uint64_t entry_ = 0;
    ElfSegment segments_[kSegmentsMax];
    std::size_t count_ = 0;
};

}  // namespace perfleet::sel4
