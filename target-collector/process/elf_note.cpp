#include "target-collector/process/elf_note.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "schemas/host/content_hash.h"
#include "schemas/host/file_io.h"
#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {
namespace {

constexpr std::size_t kProgramHeadersMax = 256;
constexpr std::uint32_t kNoteAlignment = 4;

// Reads exactly these bytes at an offset; false if there are fewer.
bool read_at(int fd, std::uint64_t offset, std::span<std::byte> into) {
    return read_all_at(fd, offset, into) == into.size();
}

// Visits the PT_NOTE segments of an ELF file of one class. `read(offset, span)` reads the file; `found(notes)` returns
// true to stop.
template <class Header, class ProgramHeader, class Read, class Found>
bool each_note_segment(Read read, Found found) {
    Header header;
    if (!read(0, std::as_writable_bytes(std::span(&header, 1)))) {
        return false;
    }
    if (header.e_phentsize != sizeof(ProgramHeader)) {
        return false;
    }
    const std::size_t count = std::min<std::size_t>(header.e_phnum, kProgramHeadersMax);
    std::vector<std::byte> notes;
    for (std::size_t i = 0; i < count; ++i) {
        ProgramHeader segment;
        const std::uint64_t at = std::uint64_t{header.e_phoff} + (i * sizeof(segment));
        if (at < header.e_phoff || !read(at, std::as_writable_bytes(std::span(&segment, 1)))) {
            return false;
        }
        if (segment.p_type != PT_NOTE || segment.p_filesz == 0) {
            continue;
        }
        notes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(segment.p_filesz, kNotesSizeBytesMax)));
        if (read(segment.p_offset, std::span(notes)) && found(std::span<const std::byte>(notes))) {
            return true;
        }
    }
    return false;
}

template <class Read, class Found>
void each_note(Read read, Found found) {
    std::array<unsigned char, EI_NIDENT> ident{};
    if (!read(0, std::as_writable_bytes(std::span(ident))) || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0 ||
        ident[EI_DATA] != ELFDATA2LSB) {
        return;
    }
    if (ident[EI_CLASS] == ELFCLASS64) {
        each_note_segment<Elf64_Ehdr, Elf64_Phdr>(read, found);
    } else if (ident[EI_CLASS] == ELFCLASS32) {
        each_note_segment<Elf32_Ehdr, Elf32_Phdr>(read, found);
    }
}

ImageContentId hash_file(int fd, std::uint64_t file_size_bytes) {
    const auto hash = content_hash_of_file(fd, file_size_bytes);
    return hash ? ImageContentId::from(*hash, true) : ImageContentId{};
}

}  // namespace

std::span<const std::byte> build_id_in_notes(std::span<const std::byte> notes) {
    constexpr std::uint32_t kNameSize = 4;  // "GNU" and its NUL
    while (notes.size() >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;  // the same in both classes
        std::memcpy(&note, notes.data(), sizeof(note));
        notes = notes.subspan(sizeof(note));
        const auto padded = [](std::uint32_t size) {
            return (std::uint64_t{size} + kNoteAlignment - 1) & ~std::uint64_t{kNoteAlignment - 1};
        };
        const std::uint64_t name_size = padded(note.n_namesz);
        if (name_size > notes.size() || note.n_descsz > notes.size() - name_size) {
            return {};
        }
        const auto content = notes.subspan(static_cast<std::size_t>(name_size));
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == kNameSize &&
            std::memcmp(notes.data(), ELF_NOTE_GNU, kNameSize) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= limits::kBuildIdSizeBytesMax) {
            return content.first(note.n_descsz);
        }
        notes =
            content.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(padded(note.n_descsz), content.size())));
    }
    return {};
}

std::span<const std::byte> build_id_in_memory(std::span<const std::byte> elf) {
    std::span<const std::byte> build_id;
    const auto read = [elf](std::uint64_t offset, std::span<std::byte> into) {
        if (offset > elf.size() || into.size() > elf.size() - offset) {
            return false;
        }
        std::memcpy(into.data(), elf.data() + offset, into.size());
        return true;
    };
    each_note(read, [&](std::span<const std::byte> notes) {
        const auto found = build_id_in_notes(notes);
        if (!found.empty()) {
            // The notes are a copy; finds the same bytes in the image.
            const auto at = std::search(elf.begin(), elf.end(), notes.begin(), notes.end());
            build_id = elf.subspan(
                static_cast<std::size_t>(at - elf.begin()) + static_cast<std::size_t>(found.data() - notes.data()),
                found.size());
        }
        return !found.empty();
    });
    return build_id;
}

ImageContentId build_id_of_file(int fd) {
    ImageContentId id;
    const auto read = [fd](std::uint64_t offset, std::span<std::byte> into) { return read_at(fd, offset, into); };
    each_note(read, [&](std::span<const std::byte> notes) {
        const auto found = build_id_in_notes(notes);
        if (!found.empty()) {
            id = ImageContentId::from(found, false);
        }
        return !found.empty();
    });
    return id;
}

ImageContentId content_id_of_file(int fd, std::uint64_t file_size_bytes) {
    const ImageContentId id = build_id_of_file(fd);
    return id.size_bytes > 0 ? id : hash_file(fd, file_size_bytes);
}

}  // namespace perfleet
