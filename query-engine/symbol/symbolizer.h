// Converts (image, offset) into a symbol's name. Sources: symbols in the store that collectors sent (the kernel's, and
// those of sampled files); ELF files by build-id and by path, debug files that a stripped file names (symbol_files.h),
// debuginfod servers (debuginfod.h), and a stripped file's .gnu_debugdata (mini_debug_info.h). Files with another
// build-id are never used.
//
// Names are those of `perf report`: the best symbol at an address by perf's own rules (symbol-elf.c, symbol.c
// choose_best_symbol), PLT entries as `name@plt`, C++ demangled. Unresolved offsets are `image+0xoffset`; memory
// without a file and without names is one place; no sample is dropped. ELF files are untrusted: a broken one gives no
// symbols and one warning, never a crash. Thread-safe.
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

#include "schemas/vocabulary/non_copyable.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/read/reader.h"

namespace perfleet {

struct Symbol {
    std::string name;  // demangled; "libfoo.so+0x123" or "//anon" if unresolved
    bool resolved = false;
    std::uint64_t offset = 0;  // of the symbol's start within the image, like Frame::offset
    std::uint64_t first = 0;   // offsets from first to last have the same name
    std::uint64_t last = 0;
    // If unresolved: start of the function, if it is known.
    std::optional<std::uint64_t> function_offset{};
};

// Properties that neighbouring offsets of an image share.
struct SymbolRun {
    std::size_t offset_count = 0;
    std::string name;
    bool is_place = false;                           // no symbol: each is named `name+0xoffset`
    std::optional<std::uint64_t> function_offset{};  // if is_place: start of their function, if it is known
};

class Symbolizer;

struct SymbolPaths {
    std::string symfs;                                         // prefix of image paths, as perf's --symfs
    std::vector<std::string> debug_folders{"/usr/lib/debug"};  // with .build-id/xx/yyyy.debug, PATH.debug and links
    std::string build_id_cache = default_build_id_cache();     // perf's, with .build-id/xx/yyyy/elf; empty: none
    bool uses_debuginfod = true;                               // if DEBUGINFOD_URLS names servers

    // Keeps symbol tables between queries of one store; null: each query has its own symbolizer.
    std::shared_ptr<Symbolizer> symbolizer = nullptr;

    [[nodiscard]] static std::string default_build_id_cache();  // ~/.debug; empty without HOME
};

class SourceFrames;

struct SourceInName {
    std::string_view file;
    std::uint64_t first_line = 0;
};

class Symbolizer : NonCopyable {
public:
    // Flag of an image whose offsets are numbers from number_of_made(); stored images never have it.
    static constexpr std::uint64_t kMadeFrame = 1ULL << 63U;

    static constexpr std::size_t kTablesSizeBytesMax = 128U << 20;

    // `store` is borrowed and may be null (no kernel symbols then). Keeps symbol tables of at most
    // `tables_size_bytes_max`, and never more than kTablesSizeBytesMax, beside those in use.
    Symbolizer(const StoreReader* store, SymbolPaths paths, std::size_t tables_size_bytes_max = kTablesSizeBytesMax);
    ~Symbolizer();

    [[nodiscard]] Symbol resolve(const ImageDefinition& image, std::uint64_t offset);

    // Like resolve(), but names the function if no symbol covers the offset and its function is known: nameless_text().
    [[nodiscard]] Symbol function_at(const ImageDefinition& image, std::uint64_t offset);

    // resolve() for ascending offsets: calls the visitor with runs of them in order, until all are covered.
    void resolve_all(const ImageDefinition& image, std::span<const std::uint64_t> offsets,
                     const std::function<void(SymbolRun)>& visitor);

    // `name+0xoffset`: the name of an address without a symbol.
    [[nodiscard]] static std::string place_name(std::string_view name, std::uint64_t offset);

    // The name of code without a symbol: `[name+0xstart]` if its function is known, else `[name]`.
    [[nodiscard]] static std::string nameless_text(const std::string& name,
                                                   std::optional<std::uint64_t> function_offset);

    // Display name of the images of an interpreter's functions.
    static constexpr std::string_view kInterpretedImage = "[python]";

    // Source of an interpreter's function, from its name `name (file:first_line)`. Borrows from the name.
    [[nodiscard]] static std::optional<SourceInName> source_in_name(std::string_view name);

    // `file:line` of an interpreter's frame, whose functions are images `name (file:first_line)` and whose offsets are
    // lines; empty for other images.
    [[nodiscard]] static std::string interpreted_line(const ImageDefinition& image, std::uint64_t offset);

    // Last part of the path, or the name in brackets: "Shared Object" in perf report.
    [[nodiscard]] static std::string image_display_name(const ImageDefinition& image);

    // Whether images without symbols were searched on debuginfod servers.
    [[nodiscard]] bool asks_debuginfod() const;

    // Debug information of the same files; borrowed from the symbolizer.
    [[nodiscard]] SourceFrames& source_frames();

    // The number of a name that isn't a symbol: of inlined functions, of lines. The same name has the same number.
    [[nodiscard]] std::uint64_t number_of_made(std::string name);
    [[nodiscard]] std::size_t made_size_bytes() const;  // of memory, about

    // Whether a warning says that the image's file isn't available, so that its functions have no names.
    [[nodiscard]] bool is_missing(const ImageDefinition& image) const;
    // Removes these names from that warning, because another warning names them.
    void withdraw_missing(const std::set<std::string>& names);

    // Files that could not be read, each named once; many files with other build-ids in one line.
    [[nodiscard]] std::vector<std::string> warnings() const;

private:
    class Tables;
    class ImageNames;
    std::unique_ptr<Tables> tables_;
};

}  // namespace perfleet
