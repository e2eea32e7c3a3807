// Source lines and inlined functions of code addresses, from the DWARF 2 to 5 of one ELF file, by libdw.
//
// The file is untrusted, and libdw has no limits of its own. It is not given files with debug sections, line programs
// or numbers of entries above the limits below; code beyond a limit has no lines. Sections are read, not mapped: a file
// that shrinks gives no lines, never a signal.
//
// Not thread-safe. Addresses are those of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

inline constexpr std::uint64_t kDebugSectionsSizeBytesMax = 512ULL << 20;  // of a file, uncompressed
inline constexpr std::uint64_t kLineProgramSizeBytesMax = 4ULL << 20;      // of a unit; each byte makes at most one row
inline constexpr std::uint64_t kLineProgramsSizeBytesMax = 16ULL << 20;    // decoded at once
inline constexpr std::size_t kDebugUnitsMax = 1U << 18;
inline constexpr std::size_t kDebugRangesMax = 4U << 20;         // of a file's units
inline constexpr std::size_t kDebugEntriesOfUnitMax = 8U << 20;  // that are visited, of a unit
inline constexpr std::size_t kDebugFunctionsMax = 1U << 20;      // kept at once, with their ranges
inline constexpr std::size_t kDebugDepthMax = 128;               // of entries within each other
inline constexpr std::size_t kInlineDepthMax = 64;               // of functions at one address

namespace debug_lines {
class DebugFile;
}

struct SourceFrame {
    std::string function;  // linkage name, else name; not demangled; empty: unknown
    std::string file;      // empty: unknown
    std::uint32_t line = 0;
    std::uint32_t first_line = 0;     // of the function's declaration; 0: unknown
    std::uint32_t discriminator = 0;  // of the line's parts, as the compiler encoded it

    friend bool operator==(const SourceFrame&, const SourceFrame&) = default;
};

class DebugLines : NonCopyable {
public:
    // Finds the file with debug entries shared by several files (.gnu_debugaltlink) by its name there and its raw
    // build-id; empty: not found.
    using FindShared = std::function<std::string(const std::string& name, std::string_view build_id)>;

    // Errors: kNotFound (no file, or no DWARF in it), kTooLarge, kInvalid, kIo, with the path.
    [[nodiscard]] static Result<std::unique_ptr<DebugLines>> open(const std::string& path,
                                                                  const FindShared& find_shared);

    // Opens an ELF file in memory; `name` stands for its path. Errors: as open().
    [[nodiscard]] static Result<std::unique_ptr<DebugLines>> of_memory(std::string bytes, const std::string& name,
                                                                       const FindShared& find_shared);

    ~DebugLines();

    // The innermost inlined function first, the function that holds the code last; empty: unknown.
    [[nodiscard]] std::vector<SourceFrame> frames_at(std::uint64_t address);

    [[nodiscard]] std::uint64_t sections_size_bytes() const;

private:
    class Reader;
    static Result<std::unique_ptr<DebugLines>> begin(Result<std::unique_ptr<debug_lines::DebugFile>> file,
                                                     const std::string& path, const FindShared& find_shared);
    explicit DebugLines(std::unique_ptr<Reader> reader);
    std::unique_ptr<Reader> reader_;
};

}  // namespace perfleet
