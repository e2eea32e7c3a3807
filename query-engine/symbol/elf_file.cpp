#include "query-engine/symbol/elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "schemas/host/content_hash.h"
#include "schemas/host/file_descriptor.h"

namespace perfleet {

class ElfFile::Handle {
public:
    explicit Handle(int fd) : fd_{fd} {}
    explicit Handle(std::string bytes) : memory_{std::move(bytes)} {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() {
        if (elf != nullptr) {
            elf_end(elf);
        }
    }

    void begin() { elf = fd_ ? elf_begin(fd_.get(), ELF_C_READ, nullptr) : elf_memory(memory_.data(), memory_.size()); }

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::string_view memory() const { return memory_; }

    Elf* elf = nullptr;
    std::uint64_t size_bytes = 0;

private:
    FileDescriptor fd_;
    std::string memory_;
};

namespace {

Error not_elf(const std::string& path, const char* why) {
    return Error{ErrorCode::kInvalid, path + ": " + why + "; no symbols are taken from it"};
}

// The build-id among the notes of `data`, if it is there.
std::string build_id_in_notes(Elf_Data* data) {
    if (data == nullptr || data->d_buf == nullptr) {
        return {};
    }
    std::size_t offset = 0;
    GElf_Nhdr note{};
    std::size_t name_offset = 0;
    std::size_t content_offset = 0;
    const auto* bytes = static_cast<const char*>(data->d_buf);
    while (offset < data->d_size) {
        const std::size_t next = gelf_getnote(data, offset, &note, &name_offset, &content_offset);
        if (next == 0 || next <= offset) {
            break;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && name_offset + 4 <= data->d_size &&
            std::string_view{bytes + name_offset, 4} == std::string_view{"GNU\0", 4} &&
            content_offset <= data->d_size && note.n_descsz <= data->d_size - content_offset) {
            return {bytes + content_offset, note.n_descsz};
        }
        offset = next;
    }
    return {};
}

}  // namespace

std::optional<std::uint64_t> file_offset_of(const std::vector<ElfSegment>& segments, std::uint64_t address) {
    for (const ElfSegment& segment : segments) {
        if (address >= segment.address && address - segment.address < segment.size_bytes) {
            return address - segment.address + segment.file_offset;
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> address_of(const std::vector<ElfSegment>& segments, std::uint64_t file_offset) {
    for (const ElfSegment& segment : segments) {
        if (file_offset >= segment.file_offset && file_offset - segment.file_offset < segment.size_bytes) {
            return file_offset - segment.file_offset + segment.address;
        }
    }
    return std::nullopt;
}

ElfFile::ElfFile(std::unique_ptr<Handle> handle, std::string path)
    : handle_{std::move(handle)}, path_{std::move(path)} {}

ElfFile::~ElfFile() = default;

std::string_view ElfFile::bytes() const { return handle_->memory(); }

Result<std::unique_ptr<ElfFile>> ElfFile::open(const std::string& path) {
    // Without O_NONBLOCK a path that names a pipe would wait for a writer forever.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return error_from_errno(errno, path);
    }
    auto handle = std::make_unique<Handle>(fd);
    struct stat status {};
    if (fstat(fd, &status) != 0) {
        return error_from_errno(errno, path);
    }
    if (!S_ISREG(status.st_mode)) {
        return not_elf(path, "not a regular file");
    }
    if (static_cast<std::uint64_t>(status.st_size) > kElfFileSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, path + ": larger than 8 GiB; no symbols are taken from it"};
    }
    handle->size_bytes = static_cast<std::uint64_t>(status.st_size);
    std::unique_ptr<ElfFile> file{new ElfFile{std::move(handle), path}};
    PERFLEET_TRY(file->read_headers());
    return file;
}

Result<std::unique_ptr<ElfFile>> ElfFile::from_memory(std::string bytes, std::string name) {
    const std::uint64_t size_bytes = bytes.size();
    auto handle = std::make_unique<Handle>(std::move(bytes));
    handle->size_bytes = size_bytes;
    std::unique_ptr<ElfFile> file{new ElfFile{std::move(handle), std::move(name)}};
    PERFLEET_TRY(file->read_headers());
    return file;
}

Result<Done> ElfFile::read_headers() {
    if (elf_version(EV_CURRENT) == EV_NONE) {
        return Error{ErrorCode::kUnsupported, "libelf is older than its header; no symbols are read"};
    }
    handle_->begin();
    Elf* elf = handle_->elf;
    GElf_Ehdr header{};
    if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == nullptr) {
        return not_elf(path_, "not an ELF file, or its header is broken");
    }
    machine_ = header.e_machine;

    std::size_t segment_count = 0;
    if (elf_getphdrnum(elf, &segment_count) != 0 || segment_count > kElfSegmentsMax) {
        return not_elf(path_, "its program headers are broken");
    }
    for (std::size_t index = 0; index < segment_count; ++index) {
        GElf_Phdr segment{};
        if (gelf_getphdr(elf, static_cast<int>(index), &segment) == nullptr) {
            return not_elf(path_, "its program headers are broken");
        }
        const std::uint64_t size_bytes = std::max(segment.p_memsz, segment.p_filesz);
        if (segment.p_type == PT_LOAD && size_bytes > 0) {
            segments_.push_back({segment.p_vaddr, segment.p_offset, size_bytes});
        }
    }

    std::size_t section_count = 0;
    std::size_t names_index = 0;
    if (elf_getshdrnum(elf, &section_count) != 0 || section_count > kElfSectionsMax ||
        (section_count > 0 && elf_getshdrstrndx(elf, &names_index) != 0)) {
        return not_elf(path_, "its section headers are broken");
    }
    sections_.resize(section_count);
    for (std::size_t index = 0; index < section_count; ++index) {
        GElf_Shdr raw{};
        Elf_Scn* section = elf_getscn(elf, index);
        if (section == nullptr || gelf_getshdr(section, &raw) == nullptr) {
            return not_elf(path_, "its section headers are broken");
        }
        sections_[index] = {{},          raw.sh_type,    raw.sh_flags,     raw.sh_addr, raw.sh_offset,
                            raw.sh_size, raw.sh_entsize, raw.sh_addralign, raw.sh_link};
    }
    // libelf must not read a name table that lies outside the file.
    if (names_index < section_count && !section_bytes(names_index).empty()) {
        for (std::size_t index = 0; index < section_count; ++index) {
            GElf_Shdr raw{};
            if (gelf_getshdr(elf_getscn(elf, index), &raw) != nullptr) {
                const char* name = elf_strptr(elf, names_index, raw.sh_name);
                sections_[index].name = name == nullptr ? "" : name;
            }
        }
    }
    read_build_id();
    return Done{};
}

void ElfFile::read_build_id() {
    Elf* elf = handle_->elf;
    for (std::size_t index = 0; index < sections_.size() && build_id_.empty(); ++index) {
        if (sections_[index].type == SHT_NOTE && !section_bytes(index).empty()) {
            build_id_ = build_id_in_notes(elf_getdata(elf_getscn(elf, index), nullptr));
        }
    }
    std::size_t segment_count = 0;
    if (!build_id_.empty() || elf_getphdrnum(elf, &segment_count) != 0) {
        return;
    }
    for (std::size_t index = 0; index < segment_count && build_id_.empty(); ++index) {
        GElf_Phdr segment{};
        if (gelf_getphdr(elf, static_cast<int>(index), &segment) != nullptr && segment.p_type == PT_NOTE &&
            segment.p_offset <= handle_->size_bytes && segment.p_filesz <= handle_->size_bytes - segment.p_offset &&
            segment.p_filesz <= kElfSectionSizeBytesMax) {
            build_id_ = build_id_in_notes(elf_getdata_rawchunk(elf, static_cast<std::int64_t>(segment.p_offset),
                                                               segment.p_filesz,
                                                               segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR));
        }
    }
}

std::string ElfFile::content_hash() const {
    const auto hash = handle_->fd() < 0 ? std::nullopt : content_hash_of_file(handle_->fd(), handle_->size_bytes);
    return hash ? std::string{reinterpret_cast<const char*>(hash->data()), hash->size()} : std::string{};
}

std::optional<std::size_t> ElfFile::find_section(std::string_view name, std::uint32_t type) const {
    for (std::size_t index = 1; index < sections_.size(); ++index) {
        if (sections_[index].name == name) {
            // As in perf, the first section of that name decides.
            return type == 0 || sections_[index].type == type ? std::optional{index} : std::nullopt;
        }
    }
    return std::nullopt;
}

std::string_view ElfFile::section_bytes(std::size_t index) const {
    if (index >= sections_.size()) {
        return {};
    }
    const ElfSection& section = sections_[index];
    if (section.type == SHT_NOBITS || section.type == SHT_NULL || section.size_bytes == 0 ||
        section.size_bytes > kElfSectionSizeBytesMax || section.file_offset > handle_->size_bytes ||
        section.size_bytes > handle_->size_bytes - section.file_offset || (section.flags & SHF_COMPRESSED) != 0) {
        return {};
    }
    const Elf_Data* data = elf_getdata(elf_getscn(handle_->elf, index), nullptr);
    if (data == nullptr || data->d_buf == nullptr) {
        return {};
    }
    return {static_cast<const char*>(data->d_buf), data->d_size};
}

ElfFile::Symbols::Symbols(const ElfFile& file, std::size_t section_index) {
    if (section_index >= file.sections_.size() || file.sections_[section_index].entry_size_bytes == 0) {
        return;
    }
    const ElfSection& section = file.sections_[section_index];
    const std::size_t entry_size_bytes = gelf_fsize(file.handle_->elf, ELF_T_SYM, 1, EV_CURRENT);
    if (entry_size_bytes == 0 || section.entry_size_bytes != entry_size_bytes) {
        return;
    }
    count_ = std::min<std::size_t>(file.section_bytes(section_index).size() / entry_size_bytes, INT_MAX);
    data_ = elf_getdata(elf_getscn(file.handle_->elf, section_index), nullptr);
    names_ = file.section_bytes(section.link);
}

ElfSymbol ElfFile::Symbols::operator[](std::size_t symbol_index) const {
    ElfSymbol symbol;
    GElf_Sym raw{};
    if (symbol_index >= count_ ||
        gelf_getsym(static_cast<Elf_Data*>(data_), static_cast<int>(symbol_index), &raw) == nullptr) {
        return symbol;
    }
    symbol.value = raw.st_value;
    symbol.size_bytes = raw.st_size;
    symbol.section = raw.st_shndx;
    symbol.type = GELF_ST_TYPE(raw.st_info);
    symbol.binding = GELF_ST_BIND(raw.st_info);
    symbol.visibility = GELF_ST_VISIBILITY(raw.st_other);
    if (raw.st_name != 0 && raw.st_name < names_.size()) {
        const std::string_view rest = names_.substr(raw.st_name);
        const std::size_t end = rest.find('\0');
        if (end != std::string_view::npos) {
            symbol.name = rest.substr(0, end);
            symbol.named = true;
        }
    }
    return symbol;
}

std::vector<ElfFile::Relocation> ElfFile::relocations(std::size_t section_index) const {
    std::vector<Relocation> relocations;
    if (section_index >= sections_.size() || section_bytes(section_index).empty()) {
        return relocations;
    }
    const ElfSection& section = sections_[section_index];
    if (section.type != SHT_RELA && section.type != SHT_REL) {
        return relocations;
    }
    Elf_Data* data = elf_getdata(elf_getscn(handle_->elf, section_index), nullptr);
    const std::size_t entry_size_bytes =
        gelf_fsize(handle_->elf, section.type == SHT_RELA ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
    if (entry_size_bytes == 0 || section.entry_size_bytes != entry_size_bytes) {
        return relocations;
    }
    const std::size_t count = std::min<std::size_t>(data->d_size / entry_size_bytes, INT_MAX);
    relocations.reserve(count);
    for (std::size_t index = 0; index < count; ++index) {
        if (section.type == SHT_RELA) {
            GElf_Rela raw{};
            if (gelf_getrela(data, static_cast<int>(index), &raw) == nullptr) {
                break;
            }
            relocations.push_back(
                {raw.r_offset, static_cast<std::uint32_t>(GELF_R_TYPE(raw.r_info)), GELF_R_SYM(raw.r_info)});
        } else {
            GElf_Rel raw{};
            if (gelf_getrel(data, static_cast<int>(index), &raw) == nullptr) {
                break;
            }
            relocations.push_back(
                {raw.r_offset, static_cast<std::uint32_t>(GELF_R_TYPE(raw.r_info)), GELF_R_SYM(raw.r_info)});
        }
    }
    return relocations;
}

}  // namespace perfleet
