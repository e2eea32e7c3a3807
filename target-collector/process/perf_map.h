// Functions of JIT code from the text of `/tmp/perf-PID.map`, which node, Java and Python write for profilers (Linux:
// tools/perf/Documentation/jit-interface.txt).
//
// A line is "START SIZE NAME", both numbers hexadecimal; the name may contain spaces. Freed code isn't reported: a
// later line replaces all functions that it overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

class PerfMap {
public:
    static constexpr std::size_t kFunctionsMax = 262'144;
    static constexpr std::size_t kNamesSizeBytesMax = 32U << 20U;  // of all names together
    static constexpr std::size_t kNameSizeBytesMax = 1'024;        // a longer name is cut

    struct Function {
        std::uint64_t start = 0;
        std::uint64_t size_bytes = 0;
        std::string_view name;  // valid until the map changes
    };

    // Adds whole lines, oldest first; skips malformed lines and those above the limits.
    void add(std::string_view text);
    // Adds one function; skips those without size or name, or beyond the last address.
    void add_function(std::uint64_t start, std::uint64_t size_bytes, std::string_view name);
    void clear();

    // The function that contains `address`; empty if there is none.
    [[nodiscard]] std::optional<Function> find(std::uint64_t address) const;
    [[nodiscard]] std::size_t function_count() const { return functions_.size(); }
    // Functions of another name that later lines replaced.
    [[nodiscard]] std::size_t replaced_count() const { return replaced_count_; }

private:
    struct Code {
        std::uint64_t end = 0;  // first address after it
        std::string name;
    };

    std::map<std::uint64_t, Code> functions_;  // by start, disjoint
    std::size_t names_size_bytes_ = 0;
    std::size_t replaced_count_ = 0;
};

}  // namespace perfleet
