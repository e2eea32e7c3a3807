// The symbols of one image, ready to be asked: which symbol covers an offset.
//
// Built by one thread, then read by many. Offsets are those of the image's frames (of the file, or from its start).
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
        std::string_view name;    // as it stands in the file, not demangled; lives as long as the table
        std::uint64_t start = 0;  // of the symbol; of the function without a name in a gap, 0: not known
        std::uint64_t first = 0;  // it covers the offsets from first to last; or so far reaches the gap
        std::uint64_t last = 0;
    };

    // Number of a name, for add_range(). Total size is limited by the caller.
    [[nodiscard]] std::uint32_t add_name(std::string_view name);

    // From `first` up to the next range's first, the symbol that starts at `start`. Ranges come ascending.
    void add_range(std::uint64_t first, std::uint64_t start, std::uint32_t name_number);
    // No symbol; `function_start`: a function without a name, if one is known there.
    void add_gap(std::uint64_t first, std::uint64_t function_start = 0);
    void shrink_to_fit();  // after the last of them

    // False when no symbol covers the offset; `hit` says then which others lie in the same gap.
    [[nodiscard]] bool find(std::uint64_t offset, Hit& hit) const;

    [[nodiscard]] std::string_view name(std::uint32_t name_number) const;
    [[nodiscard]] std::size_t size_bytes() const;
    [[nodiscard]] bool empty() const { return ranges_.empty(); }

    bool mangled = true;  // names are to be demangled

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
