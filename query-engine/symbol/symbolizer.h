// From (image, offset) to a symbol's name. Sources: symbols that collectors sent (store): the kernel's, and
// those kept of sampled files; ELF files by build-id and by path, debug files that a stripped one names
// (symbol_files.h), debuginfod servers (debuginfod.h),
// and a stripped file's .gnu_debugdata (mini_debug_info.h); a file whose build-id differs is never used.
//
// Names are what `perf report` shows: the best symbol at an address by perf's own rules (symbol-elf.c, symbol.c
// choose_best_symbol), PLT entries as `name@plt`, C++ demangled. What isn't resolved is `image+0xoffset`, and
// memory without a file where nobody tells names is one place; nothing is dropped. ELF files are untrusted: a broken
// one gives no symbols and one warning, never a crash. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/dictionary/epoch_dictionary.h"
#include "storage/read/reader.h"

namespace perfleet {

struct Symbol {
    std::string name;  // demangled; "libfoo.so+0x123" or "//anon" when not resolved
    bool resolved = false;
    std::uint64_t offset = 0;  // of the symbol's start within the image, same sort as Frame::offset
    std::uint64_t first = 0;   // offsets from first to last, this one among them, have the same name
    std::uint64_t last = 0;
    // Where nothing names it: where its function begins, if that is known.
    std::optional<std::uint64_t> function_offset{};
};

// What the names of neighbouring offsets of an image have in common.
struct SymbolRun {
    std::size_t offset_count = 0;
    std::string name;
    bool is_place = false;                           // no symbol covers them: each is called `name+0xoffset`
    std::optional<std::uint64_t> function_offset{};  // then: where their function begins, if that is known
};

struct SymbolPaths {
    std::string symfs;                                         // prefix of image paths, as perf's --symfs
    std::vector<std::string> debug_folders{"/usr/lib/debug"};  // with .build-id/xx/yyyy.debug, PATH.debug and links
    std::string build_id_cache = default_build_id_cache();     // perf's, with .build-id/xx/yyyy/elf; empty: none
    bool uses_debuginfod = true;                               // where DEBUGINFOD_URLS names servers

    [[nodiscard]] static std::string default_build_id_cache();  // ~/.debug, or nothing where there is no HOME
};

class SourceFrames;

struct SourceInName {
    std::string_view file;
    std::uint64_t first_line = 0;
};

class Symbolizer {
public:
    // Flag of an image whose offsets are numbers of number_of_made(); none that is stored has it.
    static constexpr std::uint64_t kMadeFrame = 1ULL << 63U;

    static constexpr std::size_t kTablesSizeBytesMax = 128U << 20;

    // `store` is borrowed; may be null (no kernel symbols then). Of symbol tables it keeps no more than
    // `tables_size_bytes_max`, and never more than kTablesSizeBytesMax, beside those in use.
    Symbolizer(const StoreReader* store, SymbolPaths paths, std::size_t tables_size_bytes_max = kTablesSizeBytesMax);
    ~Symbolizer();
    Symbolizer(const Symbolizer&) = delete;
    Symbolizer& operator=(const Symbolizer&) = delete;

    [[nodiscard]] Symbol resolve(const ImageDefinition& image, std::uint64_t offset);

    // As resolve(), but where no symbol covers the offset its function, if one is known there: nameless_text().
    [[nodiscard]] Symbol function_at(const ImageDefinition& image, std::uint64_t offset);

    // As resolve() for each of these offsets, which ascend: the visitor is called for the first few, then for those
    // behind them, until it was called for all.
    void resolve_all(const ImageDefinition& image, std::span<const std::uint64_t> offsets,
                     const std::function<void(SymbolRun)>& visitor);

    // `name+0xoffset`: what an address is called that no symbol covers.
    [[nodiscard]] static std::string place_name(std::string_view name, std::uint64_t offset);

    // What code is called that no symbol covers: `[name+0xstart]` where its function is known, else `[name]`.
    [[nodiscard]] static std::string nameless_text(const std::string& name,
                                                   std::optional<std::uint64_t> function_offset);

    // Display name of the images of an interpreter's functions.
    static constexpr std::string_view kInterpretedImage = "[python]";

    // Of an interpreter's function, which is called `name (file:first_line)`. Borrowed of the name.
    [[nodiscard]] static std::optional<SourceInName> source_in_name(std::string_view name);

    // `file:line` of a frame of an interpreter, whose functions are images `name (file:first_line)` and whose offsets
    // are lines; empty: it is of none.
    [[nodiscard]] static std::string interpreted_line(const ImageDefinition& image, std::uint64_t offset);

    // Last part of the path, or the name in brackets: what perf report shows as "Shared Object".
    [[nodiscard]] static std::string image_display_name(const ImageDefinition& image);

    // Images without symbols were looked for on debuginfod servers.
    [[nodiscard]] bool asks_debuginfod() const;

    // Debug information of the same files; borrowed from here.
    [[nodiscard]] SourceFrames& source_frames();

    // A name of frames that stand for no symbol: of inlined functions, of lines. The same name has the same number.
    [[nodiscard]] std::uint64_t number_of_made(std::string name);
    [[nodiscard]] std::size_t made_size_bytes() const;  // of memory, about

    // Whether a warning says that the image's file isn't here, and hence its functions have no names.
    [[nodiscard]] bool is_missing(const ImageDefinition& image) const;
    // Another warning says so of these images, by name.
    void withdraw_missing(const std::set<std::string>& names);

    // What could not be read, each named once; many files with other build-ids in one line.
    [[nodiscard]] std::vector<std::string> warnings() const;

private:
    class Tables;
    class ImageNames;
    std::unique_ptr<Tables> tables_;
};

}  // namespace perfleet
