#include "target-collector/process/unwind/elf_frames.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace perfleet {
namespace {

constexpr std::size_t kElfSectionsMax = 65'536;
constexpr std::size_t kElfSegmentsMax = 4'096;
constexpr std::size_t kElfNamesBytesMax = 1U << 20U;
constexpr std::uint8_t kEhPointerRelative4 = 0x1b;  // DW_EH_PE_pcrel | DW_EH_PE_sdata4

Error broken_image() { return {ErrorCode::kInvalid, "not an ELF image, or a broken one"}; }

class ElfFrameReader {
public:
    ElfFrameReader(const ReadImage& read, std::uint64_t size_bytes) : read_{read}, size_bytes_{size_bytes} {}

    Result<ElfFrames> make() {
        if (!read_value(0, header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) {
            return broken_image();
        }
        if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
            (header_.e_machine != EM_X86_64 && header_.e_machine != EM_AARCH64)) {
            return Error{ErrorCode::kUnsupported, "code of a machine that isn't unwound"};
        }
        frames_.machine = header_.e_machine == EM_X86_64 ? UnwindMachine::kX86_64 : UnwindMachine::kAarch64;
        frames_.entry = header_.e_entry;
        if (!read_segments()) {
            return broken_image();
        }
        PERFLEET_TRY(read_sections());
        // The image is in memory, or has no section headers.
        if (frames_.sections.empty()) {
            PERFLEET_TRY(read_by_header());
        }
        if (frames_.sections.empty()) {
            return Error{ErrorCode::kNotFound, "it has no unwind information"};
        }
        return std::move(frames_);
    }

private:
    [[nodiscard]] bool read_bytes(std::uint64_t offset, std::span<std::byte> into) const {
        return offset <= size_bytes_ && into.size() <= size_bytes_ - offset && read_(offset, into);
    }
    template <class Value>
    [[nodiscard]] bool read_value(std::uint64_t offset, Value& value) const {
        return read_bytes(offset, std::as_writable_bytes(std::span{&value, 1}));
    }

    bool read_segments() {
        if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum > kElfSegmentsMax) {
            return false;
        }
        segments_.resize(header_.e_phnum);
        if (!read_bytes(header_.e_phoff, std::as_writable_bytes(std::span{segments_}))) {
            return false;
        }
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
                segment.p_vaddr + segment.p_filesz >= segment.p_vaddr &&
                segment.p_offset + segment.p_filesz >= segment.p_offset) {
                frames_.code.push_back({segment.p_vaddr, segment.p_filesz, segment.p_offset});
            }
        }
        return true;
    }

    Result<Done> read_sections() {
        if (header_.e_shoff == 0 || header_.e_shentsize != sizeof(Elf64_Shdr)) {
            return Done{};
        }
        Elf64_Shdr first;
        if (!read_value(header_.e_shoff, first)) {
            return Done{};
        }
        const std::uint64_t count = header_.e_shnum != 0 ? header_.e_shnum : first.sh_size;
        const std::uint64_t names_index = header_.e_shstrndx != SHN_XINDEX ? header_.e_shstrndx : first.sh_link;
        if (count > kElfSectionsMax || names_index >= count) {
            return Done{};
        }
        std::vector<Elf64_Shdr> sections(static_cast<std::size_t>(count));
        if (!read_bytes(header_.e_shoff, std::as_writable_bytes(std::span{sections}))) {
            return Done{};
        }
        const Elf64_Shdr& names_section = sections[static_cast<std::size_t>(names_index)];
        if (names_section.sh_size > kElfNamesBytesMax) {
            return broken_image();
        }
        std::vector<char> names(static_cast<std::size_t>(names_section.sh_size));
        if (!read_bytes(names_section.sh_offset, std::as_writable_bytes(std::span{names}))) {
            return broken_image();
        }
        const std::string_view all_names{names.data(), names.size()};
        for (const Elf64_Shdr& section : sections) {
            const std::string_view name =
                section.sh_name < all_names.size()
                    ? all_names.substr(section.sh_name).substr(0, all_names.substr(section.sh_name).find('\0'))
                    : std::string_view{};
            if (section.sh_type == SHT_NOBITS || (section.sh_flags & SHF_COMPRESSED) != 0 ||
                (name != ".eh_frame" && name != ".debug_frame")) {
                continue;
            }
            if (auto done = add(section.sh_offset, section.sh_size, section.sh_addr, name == ".debug_frame");
                !done.ok()) {
                return done;
            }
        }
        // .eh_frame has priority.
        std::stable_partition(frames_.sections.begin(), frames_.sections.end(),
                              [](const FrameSection& section) { return !section.is_debug_frame; });
        return Done{};
    }

    // .eh_frame_hdr, found by PT_GNU_EH_FRAME, begins with a pointer to .eh_frame. The size is unknown: it ends with a
    // length of 0, or with its segment.
    Result<Done> read_by_header() {
        struct {
            std::uint8_t version, pointer_encoding, count_encoding, table_encoding;
            std::int32_t pointer;
        } header{};
        static_assert(sizeof(header) == 8);
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type != PT_GNU_EH_FRAME || !read_value(segment.p_offset, header) || header.version != 1 ||
                header.pointer_encoding != kEhPointerRelative4) {
                continue;
            }
            const std::uint64_t address =
                segment.p_vaddr + 4 + static_cast<std::uint64_t>(std::int64_t{header.pointer});
            for (const Elf64_Phdr& load : segments_) {
                if (load.p_type != PT_LOAD || address < load.p_vaddr || address - load.p_vaddr >= load.p_filesz) {
                    continue;
                }
                const std::uint64_t offset = load.p_offset + (address - load.p_vaddr);
                const std::uint64_t left = load.p_filesz - (address - load.p_vaddr);
                return offset >= size_bytes_ ? Result<Done>{broken_image()}
                                             : add(offset, std::min(left, size_bytes_ - offset), address, false);
            }
        }
        return Done{};
    }

    Result<Done> add(std::uint64_t offset, std::uint64_t size_bytes, std::uint64_t address, bool is_debug_frame) {
        if (size_bytes > kFrameSectionBytesMax) {
            return Error{ErrorCode::kTooLarge, "its unwind information is too large"};
        }
        if (offset > size_bytes_ || size_bytes > size_bytes_ - offset) {
            return broken_image();
        }
        // One section of each kind: linked images have no more, and a malicious one could name the same millions of
        // bytes thousands of times.
        for (const FrameSection& other : frames_.sections) {
            if (other.is_debug_frame == is_debug_frame) {
                return Done{};
            }
        }
        FrameSection section{std::vector<std::byte>(static_cast<std::size_t>(size_bytes)), address, is_debug_frame};
        if (!read_bytes(offset, section.bytes)) {
            return Error{ErrorCode::kIo, "its unwind information can't be read"};
        }
        if (!section.bytes.empty()) {
            frames_.sections.push_back(std::move(section));
        }
        return Done{};
    }

    const ReadImage& read_;
    std::uint64_t size_bytes_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> segments_;
    ElfFrames frames_;
};

}  // namespace

Result<ElfFrames> read_elf_frames(const ReadImage& read, std::uint64_t size_bytes) {
    return ElfFrameReader{read, size_bytes}.make();
}

}  // namespace perfleet
