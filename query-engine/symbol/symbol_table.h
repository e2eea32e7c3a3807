// The symbols of one image, ready for lookup by offset.
//
// Built by one thread, then read by many. Offsets are those of the image's frames (file offsets, or from the image's
// start).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfleet {

class SymbolTable {
public:
    struct Hit {
        std::string_view name;    // as in the file, not demangled; valid as long as the table
        std::uint64_t start = 0;  // of the symbol; in a gap: of an unnamed function, 0: unknown
        std::uint64_t first = 0;  // the symbol, or the gap, covers offsets from first to last
        std::uint64_t last = 0;
    };

    // Memory for this many, so that it isn't copied as it grows.
    void reserve(std::size_t range_count, std::size_t name_count, std::size_t name_size_bytes);

    // Number of a name for add_range(). The caller limits the total size.
    [[nodiscard]] std::uint32_t add_name(std::string_view name);

    // The symbol that starts at `start` covers offsets from `first` up to the next range's first. Ranges must ascend.
    void add_range(std::uint64_t first, std::uint64_t start, std::uint32_t name_number);
    // A gap without a symbol; `function_start`: start of an unnamed function there, 0: unknown.
    void add_gap(std::uint64_t first, std::uint64_t function_start = 0);
    void shrink_to_fit();  // to be called after the last range

    // False if no symbol covers the offset; `hit` then describes the gap.
    [[nodiscard]] bool find(std::uint64_t offset, Hit& hit) const;

    [[nodiscard]] std::string_view name(std::uint32_t name_number) const;
    [[nodiscard]] std::size_t size_bytes() const;
    [[nodiscard]] bool empty() const { return ranges_.empty(); }

    bool mangled = true;  // names must be demangled

private:
    static constexpr std::uint32_t kNoName = ~0U;
    struct Range {
        std::uint64_t first;
        std::uint64_t start;
        std::uint32_t name_number;
    };
    std::vector<Range> ranges_;
    std::vector<std::uint32_t> name_offsets_{0};
    std::string names_;
};

}  // namespace perfleet
