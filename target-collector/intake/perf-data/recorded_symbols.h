// The functions that simpleperf writes beside its samples: features FILE and FILE2. They hold the functions of each
// file that samples hit, as text in the format of ImageType::kKernelSymbols (schemas/wire/README.md): names for files
// that aren't available.
//
//   FILE:   u32 size, then: path NUL, u32 type, u64 least address, u32 count, { u64 address, u32 size, name NUL } …,
//           and of a library u64 offset of the least address in the file; of a module u64 offset in its memory
//   FILE2:  u32 size, then a message: path 1, type 2, least address 3, symbols 4 { address 1, size 2, name 3 },
//           library 6 { offset 1 }, module 7 { offset 1 }
//
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perfleet {

struct RecordedFunction {
    std::uint64_t address = 0;  // in libraries as in the file, in the kernel as at run time
    std::uint32_t size_bytes = 0;
    std::string name;
};

struct RecordedSymbols {
    enum class Type : std::uint32_t {
        kKernel = 0,
        kKernelModule = 1,
        kElfFile = 2
    };  // other types have no addresses in a file

    Type type = Type::kElfFile;
    std::uint64_t least_address = 0;
    std::uint64_t offset_of_least = 0;
    std::vector<RecordedFunction> functions;

    // "offset t name" lines, ascending; by offset in the file, or from the kernel's `start`. Code after a function that
    // belongs to none gets the file's name in brackets, as if no symbol covered it.
    [[nodiscard]] std::string text(std::string_view path, std::uint64_t kernel_start) const;
};

using RecordedSymbolsByPath = std::map<std::string, RecordedSymbols, std::less<>>;

inline constexpr std::size_t kRecordedFunctionsMax = 1U << 22;

// Adds the functions of a section. False: it is malformed; those before the fault are added.
[[nodiscard]] bool take_simpleperf_files(std::span<const std::byte> section, bool is_foreign,
                                         RecordedSymbolsByPath& symbols);
[[nodiscard]] bool take_simpleperf_messages(std::span<const std::byte> section, bool is_foreign,
                                            RecordedSymbolsByPath& symbols);

}  // namespace perfleet
