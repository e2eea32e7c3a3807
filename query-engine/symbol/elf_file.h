// An ELF file, opened for reading symbols. Everything in it is untrusted: sizes are checked against the file and the
// limits below before anything is read, so that a broken or hostile file gives an error, never a crash.
//
// Not thread-safe; owns its descriptor. No memory mapping: a file that shrinks while it is open gives a read error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/perf/build_id.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

inline constexpr std::uint64_t kElfFileSizeBytesMax = 8ULL << 30;
inline constexpr std::uint64_t kElfSectionSizeBytesMax = 512ULL << 20;  // of a section that is read into memory
inline constexpr std::size_t kElfSectionsMax = 65'536;
inline constexpr std::size_t kElfSegmentsMax = 4'096;

struct ElfSection {
    std::string name;
    std::uint32_t type = 0;
    std::uint64_t flags = 0;
    std::uint64_t address = 0;
    std::uint64_t file_offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t entry_size_bytes = 0;
    std::uint64_t alignment = 0;
    std::uint32_t link = 0;
};

struct ElfSegment {  // PT_LOAD
    std::uint64_t address = 0;
    std::uint64_t file_offset = 0;
    std::uint64_t size_bytes = 0;  // the larger of its sizes in the file and in memory
};

struct ElfSymbol {
    std::uint64_t value = 0;
    std::uint64_t size_bytes = 0;
    std::uint32_t section = 0;  // index, or SHN_*
    std::uint8_t type = 0;      // STT_*
    std::uint8_t binding = 0;   // STB_*
    std::uint8_t visibility = 0;
    bool named = false;
    std::string_view name;  // lives as long as the file
};

// For the parts of the file that segments load: the offset in the file of an address, and the address of an offset in
// the file.
[[nodiscard]] std::optional<std::uint64_t> file_offset_of(const std::vector<ElfSegment>& segments,
                                                          std::uint64_t address);
[[nodiscard]] std::optional<std::uint64_t> address_of(const std::vector<ElfSegment>& segments,
                                                      std::uint64_t file_offset);

class ElfFile : NonCopyable {
public:
    // Errors: kNotFound, kPermission, kIo (with the path); kInvalid (not an ELF file).
    [[nodiscard]] static Result<std::unique_ptr<ElfFile>> open(const std::string& path);

    // An image in memory, such as the vdso; the bytes are copied.
    [[nodiscard]] static Result<std::unique_ptr<ElfFile>> from_memory(std::string bytes, std::string name);

    ~ElfFile();

    [[nodiscard]] const std::string& path() const { return path_; }
    // Of an image in memory, as it was given; empty for a file.
    [[nodiscard]] std::string_view bytes() const;
    [[nodiscard]] std::string_view build_id() const { return build_id_; }  // raw bytes, empty when it has none
    // Whether it is the file that was recorded with this build-id. Both empty: yes.
    [[nodiscard]] bool has_build_id(std::string_view recorded) const {
        return perf::is_same_build_id(build_id_, recorded);
    }
    // The identity of its content if it has no build-id (schemas/host/content_hash.h); empty if it can't be read, or
    // isn't a file.
    [[nodiscard]] std::string content_hash() const;
    [[nodiscard]] std::uint16_t machine() const { return machine_; }
    [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }  // by index
    [[nodiscard]] const std::vector<ElfSegment>& segments() const { return segments_; }

    // Index of the first section of this name (and type, unless 0).
    [[nodiscard]] std::optional<std::size_t> find_section(std::string_view name, std::uint32_t type = 0) const;

    // Bytes of a section in the file; empty when it has none, is too large, or can't be read.
    [[nodiscard]] std::string_view section_bytes(std::size_t index) const;

    // Symbols of a section's table. Broken entries, and indices past the end, give an unnamed symbol.
    class Symbols {
    public:
        // Borrows the file.
        Symbols(const ElfFile& file, std::size_t section_index);
        [[nodiscard]] std::size_t size() const { return count_; }
        [[nodiscard]] ElfSymbol operator[](std::size_t symbol_index) const;

    private:
        void* data_ = nullptr;  // Elf_Data
        std::string_view names_;
        std::size_t count_ = 0;
    };

    struct Relocation {
        std::uint64_t address = 0;
        std::uint32_t type = 0;
        std::size_t symbol_index = 0;
    };
    [[nodiscard]] std::vector<Relocation> relocations(std::size_t section_index) const;

private:
    class Handle;
    ElfFile(std::unique_ptr<Handle> handle, std::string path);
    [[nodiscard]] Result<Done> read_headers();
    void read_build_id();

    std::unique_ptr<Handle> handle_;
    std::string path_;
    std::string build_id_;
    std::uint16_t machine_ = 0;
    std::vector<ElfSection> sections_;
    std::vector<ElfSegment> segments_;
};

}  // namespace perfleet
