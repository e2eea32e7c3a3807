#include "target-collector/sel4/loader/elf_image.h"

#include <algorithm>

namespace perfleet::sel4 {
namespace {

// System V ABI, "Object Files".
struct Header {
    std::byte ident[16];
    std::uint16_t type;
    std::uint16_t machine;
    std::uint32_t version;
    std::uint64_t entry;
    std::uint64_t program_offset;
    std::uint64_t section_offset;
    std::uint32_t flags;
    std::uint16_t header_size;
    std::uint16_t program_size;
    std::uint16_t program_count;
    std::uint16_t section_size;
    std::uint16_t section_count;
    std::uint16_t names_index;
};
static_assert(sizeof(Header) == 64);
struct ProgramHeader {
    std::uint32_t type;
    std::uint32_t flags;
    std::uint64_t offset;
    std::uint64_t address;
    std::uint64_t physical_address;
    std::uint64_t file_size;
    std::uint64_t memory_size;
    std::uint64_t alignment;
};
static_assert(sizeof(ProgramHeader) == 56);
constexpr std::uint32_t kLoaded = 1;
constexpr std::uint64_t kMemoryMax = 1ULL << 30;

template <class T>
bool read(std::span<const std::byte> file, std::uint64_t offset, T& into) {
    if (offset > file.size() || file.size() - offset < sizeof into) {
        return false;
    }
    __builtin_memcpy(&into, file.data() + offset, sizeof into);
    return true;
}

}  // namespace

Checked<ElfImage> ElfImage::open(std::span<const std::byte> file_untrusted) {
    constexpr std::byte kIdent[] = {std::byte{0x7f}, std::byte{'E'}, std::byte{'L'},
                                    std::byte{'F'},  std::byte{2},   std::byte{1}};
    Header header{};
    if (!read(file_untrusted, 0, header) || !std::equal(std::begin(kIdent), std::end(kIdent), header.ident) ||
        header.program_size != sizeof(ProgramHeader)) {
        return Fault{ErrorCode::kInvalid, 0, 0};
    }
    ElfImage image;
    image.entry_ = header.entry;
    for (std::uint64_t i = 0; i < header.program_count; ++i) {
        ProgramHeader program{};
        if (header.program_offset > file_untrusted.size() ||
            !read(file_untrusted, header.program_offset + i * sizeof program, program)) {
            return Fault{ErrorCode::kTruncated, i, header.program_offset};
        }
        if (program.type != kLoaded || program.memory_size == 0) {
            continue;
        }
        if (program.offset > file_untrusted.size() || file_untrusted.size() - program.offset < program.file_size) {
            return Fault{ErrorCode::kTruncated, i, program.file_size};
        }
        if (program.file_size > program.memory_size || program.memory_size > kMemoryMax ||
            program.address > ~0ULL - program.memory_size || program.physical_address > ~0ULL - program.memory_size) {
            return Fault{ErrorCode::kInvalid, i, program.memory_size};
        }
        if (image.count_ == kSegmentsMax) {
            return Fault{ErrorCode::kTooLarge, i, kSegmentsMax};
        }
        image.segments_[image.count_++] = {program.address, program.physical_address,
                                           file_untrusted.subspan(program.offset, program.file_size),
                                           program.memory_size};
    }
    if (image.count_ == 0) {
        return Fault{ErrorCode::kInvalid, header.program_offset, header.program_count};
    }
    return image;
}

std::uint64_t ElfImage::begin() const {
    std::uint64_t begin = ~0ULL;
    for (const ElfSegment& segment : segments()) {
        begin = std::min(begin, segment.address);
    }
    return begin;
}

std::uint64_t ElfImage::end() const {
    std::uint64_t end = 0;
    for (const ElfSegment& segment : segments()) {
        end = std::max(end, segment.address + segment.size_bytes);
    }
    return end;
}

}  // namespace perfleet::sel4
