#include "target-collector/process/symbol_part.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "schemas/host/file_io.h"

namespace perfleet {
namespace {

constexpr std::size_t kSectionsMax = 65'536;
constexpr std::size_t kSegmentsMax = 4'096;
constexpr std::size_t kNamesSizeBytesMax = 1U << 20U;         // of sections
constexpr std::size_t kNoteSizeBytesMax = 64U << 10U;         // of one section
constexpr std::size_t kFunctionsSizeBytesMax = 8U << 20U;     // of .eh_frame_hdr
constexpr std::size_t kRelocationsSizeBytesMax = 1U << 20U;   // of .rela.dyn, which names a few entries of the PLT
constexpr std::size_t kGoFunctionsSizeBytesMax = 48U << 20U;  // of .gopclntab
constexpr std::size_t kAlignment = 8;

Error broken() { return {ErrorCode::kInvalid, "not an ELF file, or a broken one"}; }
Error too_large(PartKind kind) {
    return {ErrorCode::kTooLarge,
            kind == PartKind::kSymbols ? "its symbol tables are too large" : "its debug information is too large"};
}

// Whether the section maps addresses to lines and inlined functions.
bool is_of_lines(std::string_view name) {
    if (name == ".gnu_debugaltlink") {
        return true;
    }
    for (const std::string_view prefix : {".debug_", ".zdebug_"}) {
        if (name.starts_with(prefix)) {
            name.remove_prefix(prefix.size());
            return name == "info" || name == "abbrev" || name == "line" || name == "line_str" || name == "str" ||
                   name == "str_offsets" || name == "addr" || name == "ranges" || name == "rnglists" ||
                   name == "aranges";  // without it older libdw finds no lines
        }
    }
    return false;
}

std::span<std::byte> bytes_of(std::string& text) { return std::as_writable_bytes(std::span{text}); }

template <class Value>
std::span<std::byte> bytes_of_value(Value& value) {
    return std::as_writable_bytes(std::span{&value, 1});
}

template <class Header, class Segment, class Section, class Read>
class Part {
public:
    Part(const Read& read, std::uint64_t file_size_bytes, PartKind kind)
        : read_{read}, file_size_bytes_{file_size_bytes}, kind_{kind} {}

    Result<SymbolPart> make() {
        PERFLEET_TRY(read_headers());
        choose();
        auto bytes = PERFLEET_TRY(write());
        return SymbolPart{std::move(bytes), has_symbols_, is_stripped_, has_lines_, std::move(debug_link_)};
    }

private:
    [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> into) const {
        return offset <= file_size_bytes_ && into.size() <= file_size_bytes_ - offset && read_(offset, into);
    }

    Result<Done> read_headers() {
        if (!read(0, bytes_of_value(header_)) || header_.e_shentsize != sizeof(Section) ||
            (header_.e_phnum > 0 && header_.e_phentsize != sizeof(Segment)) || header_.e_phnum > kSegmentsMax) {
            return broken();
        }
        segments_.resize(header_.e_phnum);
        Section first;
        if (!read(header_.e_phoff, std::as_writable_bytes(std::span{segments_})) ||
            !read(header_.e_shoff, bytes_of_value(first))) {
            return broken();
        }
        const std::uint64_t count = header_.e_shnum != 0 ? header_.e_shnum : std::uint64_t{first.sh_size};
        const std::uint64_t names = header_.e_shstrndx != SHN_XINDEX ? header_.e_shstrndx : first.sh_link;
        if (count > kSectionsMax || names >= count) {
            return broken();
        }
        names_index_ = static_cast<std::size_t>(names);
        sections_.resize(static_cast<std::size_t>(count));
        if (!read(header_.e_shoff, std::as_writable_bytes(std::span{sections_})) ||
            sections_[names_index_].sh_size > kNamesSizeBytesMax) {
            return broken();
        }
        names_.resize(static_cast<std::size_t>(sections_[names_index_].sh_size));
        return read(sections_[names_index_].sh_offset, bytes_of(names_)) ? Result<Done>{Done{}} : broken();
    }

    [[nodiscard]] std::string_view name_of(const Section& section) const {
        if (section.sh_name >= names_.size()) {
            return {};
        }
        const std::string_view rest = std::string_view{names_}.substr(section.sh_name);
        return rest.substr(0, rest.find('\0'));
    }

    void choose() {
        is_kept_.assign(sections_.size(), false);
        is_kept_[names_index_] = true;
        std::size_t functions = 0;
        std::size_t go_functions = 0;
        for (std::size_t i = 1; i < sections_.size(); ++i) {
            const Section& section = sections_[i];
            const std::string_view name = name_of(section);
            if (is_of_lines(name)) {
                is_kept_[i] = kind_ == PartKind::kLines;
                has_lines_ = has_lines_ || (name.ends_with("debug_info") && section.sh_type != SHT_NOBITS);
                continue;
            }
            if (section.sh_type == SHT_NOTE && (section.sh_flags & SHF_COMPRESSED) == 0) {
                is_kept_[i] = section.sh_size <= kNoteSizeBytesMax;
                continue;
            }
            if (kind_ == PartKind::kLines || (section.sh_flags & SHF_COMPRESSED) != 0) {
                continue;
            }
            if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) {
                is_kept_[i] = true;
                is_stripped_ = is_stripped_ && section.sh_type != SHT_SYMTAB;
                has_symbols_ = has_symbols_ || section.sh_size > section.sh_entsize;  // the first entry is empty
                if (section.sh_link < sections_.size()) {
                    is_kept_[section.sh_link] = true;
                }
            } else if (name == ".gnu_debugdata") {  // xz-compressed symbols that .dynsym lacks
                is_kept_[i] = true;
                has_symbols_ = has_symbols_ || section.sh_size > 0;
            } else if (name == ".eh_frame_hdr") {  // start addresses of functions without symbols
                functions = i;
            } else if (name == ".rela.plt" || name == ".rel.plt" || name == ".plt.sec" || name == ".plt.got" ||
                       (name == ".rela.dyn" && section.sh_size <= kRelocationsSizeBytesMax)) {
                is_kept_[i] = true;
            } else if (name == ".gopclntab" && section.sh_size <= kGoFunctionsSizeBytesMax) {
                go_functions = i;
            } else if (name == ".gnu_debuglink") {
                is_kept_[i] = section.sh_size <= kNoteSizeBytesMax;
            }
        }
        if (functions != 0 && is_stripped_ && sections_[functions].sh_size <= kFunctionsSizeBytesMax) {
            is_kept_[functions] = true;
            has_symbols_ = has_symbols_ || sections_[functions].sh_size > 0;
        }
        if (go_functions != 0 && is_stripped_) {
            is_kept_[go_functions] = true;
            has_symbols_ = true;
        }
    }

    Result<std::string> write() {
        const auto aligned = [](std::uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; };
        std::uint64_t size = aligned(sizeof(Header) + segments_.size() * sizeof(Segment));
        for (std::size_t i = 0; i < sections_.size(); ++i) {
            const bool has_content = is_kept_[i] && sections_[i].sh_type != SHT_NOBITS;
            if (has_content && sections_[i].sh_size > kSymbolPartSizeBytesMax) {
                return too_large(kind_);
            }
            size += has_content ? aligned(sections_[i].sh_size) : 0;
        }
        const std::uint64_t sections_at = size;
        size += sections_.size() * sizeof(Section);
        if (size > kSymbolPartSizeBytesMax) {
            return too_large(kind_);
        }
        std::string part(static_cast<std::size_t>(size), '\0');
        const auto put = [&part](std::uint64_t offset, const auto& values) {
            const auto bytes = std::as_bytes(std::span{values});
            std::copy(bytes.begin(), bytes.end(), bytes_of(part).begin() + static_cast<std::ptrdiff_t>(offset));
        };
        std::uint64_t at = aligned(sizeof(Header) + segments_.size() * sizeof(Segment));
        for (std::size_t i = 0; i < sections_.size(); ++i) {
            Section& section = sections_[i];
            if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) {
                continue;
            }
            if (!is_kept_[i]) {
                section.sh_type = SHT_NOBITS;
                continue;
            }
            if (!read(section.sh_offset, bytes_of(part).subspan(static_cast<std::size_t>(at),
                                                                static_cast<std::size_t>(section.sh_size)))) {
                return broken();
            }
            if (name_of(section) == ".gnu_debuglink") {
                const std::string_view link = std::string_view{part}.substr(static_cast<std::size_t>(at),
                                                                            static_cast<std::size_t>(section.sh_size));
                debug_link_ = link.substr(0, link.find('\0'));
            }
            section.sh_offset = static_cast<decltype(section.sh_offset)>(at);
            at += aligned(section.sh_size);
        }
        for (Segment& segment : segments_) {
            segment.p_type = segment.p_type == PT_NOTE ? PT_NULL : segment.p_type;  // its content isn't copied
        }
        header_.e_phoff = sizeof(Header);
        header_.e_shoff = static_cast<decltype(header_.e_shoff)>(sections_at);
        put(0, std::span{&header_, 1});
        put(sizeof(Header), segments_);
        put(sections_at, sections_);
        return part;
    }

    const Read& read_;
    std::uint64_t file_size_bytes_;
    PartKind kind_;
    Header header_{};
    std::vector<Segment> segments_;
    std::vector<Section> sections_;
    std::size_t names_index_ = 0;
    std::string names_;
    std::vector<bool> is_kept_;
    bool has_symbols_ = false;
    bool is_stripped_ = true;
    bool has_lines_ = false;
    std::string debug_link_;
};

template <class Read>
Result<SymbolPart> symbol_part(const Read& read, std::uint64_t file_size_bytes, PartKind kind) {
    unsigned char ident[EI_NIDENT]{};
    if (file_size_bytes < sizeof(ident) || !read(0, std::as_writable_bytes(std::span{ident})) ||
        std::memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != ELFDATA2LSB) {
        return broken();
    }
    return ident[EI_CLASS] == ELFCLASS64
               ? Part<Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr, Read>{read, file_size_bytes, kind}.make()
           : ident[EI_CLASS] == ELFCLASS32
               ? Part<Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr, Read>{read, file_size_bytes, kind}.make()
               : broken();
}

}  // namespace

Result<SymbolPart> symbol_part_of_file(int fd, std::uint64_t file_size_bytes, PartKind kind) {
    const auto read = [fd](std::uint64_t offset, std::span<std::byte> into) {
        return read_all_at(fd, offset, into) == into.size();
    };
    return symbol_part(read, file_size_bytes, kind);
}

Result<SymbolPart> symbol_part_of(std::span<const std::byte> elf, PartKind kind) {
    const auto read = [elf](std::uint64_t offset, std::span<std::byte> into) {
        std::copy_n(elf.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return true;
    };
    return symbol_part(read, elf.size(), kind);
}

}  // namespace perfleet
