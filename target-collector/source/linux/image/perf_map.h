// The functions that a run-time has made in memory, as it tells them: text of `/tmp/perf-PID.map`, which node, Java and
// Python write for profilers (Linux: tools/perf/Documentation/jit-interface.txt).
//
// A line is "START SIZE NAME", both numbers hexadecimal; the name may hold spaces. Code is thrown away and its memory
// used again without a word: a later line takes the place of all that it overlaps.
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

    // Takes whole lines, oldest first; what isn't such a line is skipped. What is beyond the limits is left out.
    void add(std::string_view text);
    // The same of one function; what has no size, no name, or goes beyond the last address is skipped.
    void add_function(std::uint64_t start, std::uint64_t size_bytes, std::string_view name);
    void clear();

    // The function that holds `address`; empty when none does.
    [[nodiscard]] std::optional<Function> find(std::uint64_t address) const;
    [[nodiscard]] std::size_t function_count() const { return functions_.size(); }

private:
    struct Code {
        std::uint64_t end = 0;  // the first address behind it
        std::string name;
    };

    std::map<std::uint64_t, Code> functions_;  // by start, never overlapping
    std::size_t names_size_bytes_ = 0;
};

}  // namespace perfleet
