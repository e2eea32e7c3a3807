#include "query-engine/symbol/kernel_symbols.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "query-engine/symbol/symbol_rank.h"
#include "schemas/text/parse.h"

namespace perfleet {
namespace {

struct Line {
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
    char type = 0;
    std::string_view name;
};

bool parse_line(std::string_view text, Line& line) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), line.offset, 16);
    if (error != std::errc{}) {
        return false;
    }
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    if (text.size() < 4 || text[0] != ' ' || text[2] != ' ') {
        return false;
    }
    line.type = text[1];
    line.name = text.substr(3);
    return true;
}

// Text and data symbols; not absolute ones, nor Arm's local ones.
bool is_taken(const Line& line) {
    constexpr std::string_view kTypes{"tTwWdDbB"};
    return kTypes.find(line.type) != std::string_view::npos && line.name.front() != '$';
}

std::uint8_t binding_of(char type) {
    if (type == 'W') {
        return STB_WEAK;
    }
    return type >= 'A' && type <= 'Z' ? STB_GLOBAL : STB_LOCAL;
}

}  // namespace

Result<SymbolTable> symbols_of_kernel(std::string_view text, std::uint64_t& bad_lines) {
    std::vector<Line> lines;
    while (!text.empty()) {
        Line line;
        if (!parse_line(take_part(text, '\n'), line)) {
            ++bad_lines;
        } else if (is_taken(line)) {
            lines.push_back(line);
        }
        if (lines.size() > kKernelSymbolsMax) {
            return Error{ErrorCode::kTooLarge, "kernel symbols: more than 4,194,304; none are used"};
        }
    }
    std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.offset < b.offset; });

    // A symbol reaches up to the next, the last one to the end of the page after it.
    constexpr std::uint64_t kPage = 4'096;
    for (std::size_t index = 0; index < lines.size(); ++index) {
        const std::uint64_t offset = lines[index].offset;
        lines[index].end =
            index + 1 < lines.size() ? lines[index + 1].offset : (offset + 2 * kPage - 1) / kPage * kPage;
    }

    SymbolTable table;
    table.mangled = false;
    for (std::size_t index = 0; index < lines.size();) {
        std::size_t best = index;
        std::size_t next = index + 1;
        for (; next < lines.size() && lines[next].offset == lines[index].offset; ++next) {
            const auto ranked = [](const Line& line) {
                return RankedSymbol{line.end - line.offset, binding_of(line.type), line.name, false};
            };
            if (!first_is_better(ranked(lines[best]), ranked(lines[next]))) {
                best = next;
            }
        }
        const Line& line = lines[best];
        table.add_range(line.offset, line.offset, table.add_name(line.name));
        const std::uint64_t end = lines[next - 1].end;
        if (end > line.offset && (next == lines.size() || end < lines[next].offset)) {
            table.add_gap(end);
        }
        index = next;
    }
    return table;
}

}  // namespace perfleet
