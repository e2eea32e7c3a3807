#include "target-collector/process/perf_map.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "schemas/text/parse.h"

namespace perfleet {
namespace {

// Removes a hexadecimal number, and the spaces after it, from the front of `text`.
std::optional<std::uint64_t> take_hex(std::string_view& text) {
    if (text.starts_with("0x")) {
        text.remove_prefix(2);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::size_t space_count = std::min(text.find_first_not_of(' '), text.size());
    if (error != std::errc{} || space_count == 0) {
        return std::nullopt;
    }
    text.remove_prefix(space_count);
    return value;
}

}  // namespace

void PerfMap::add(std::string_view text) {
    while (!text.empty()) {
        std::string_view line = take_part(text, '\n');
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        const auto start = take_hex(line);
        const auto size_bytes = start ? take_hex(line) : std::nullopt;
        if (size_bytes) {
            add_function(*start, *size_bytes, line);
        }
    }
}

void PerfMap::add_function(std::uint64_t start, std::uint64_t size_bytes, std::string_view name) {
    const std::uint64_t end = start + size_bytes;
    if (end <= start || name.empty() || name.front() == '\0') {
        return;
    }
    name = name.substr(0, kNameSizeBytesMax);
    auto at = functions_.upper_bound(start);
    if (at != functions_.begin() && std::prev(at)->second.end > start) {
        --at;
    }
    while (at != functions_.end() && at->first < end) {
        names_size_bytes_ -= at->second.name.size();
        replaced_count_ += at->second.name != name ? 1 : 0;
        at = functions_.erase(at);
    }
    if (functions_.size() < kFunctionsMax && names_size_bytes_ + name.size() <= kNamesSizeBytesMax) {
        functions_.emplace_hint(at, start, Code{end, std::string{name}});
        names_size_bytes_ += name.size();
    }
}

void PerfMap::clear() {
    functions_.clear();
    names_size_bytes_ = 0;
    replaced_count_ = 0;
}

std::optional<PerfMap::Function> PerfMap::find(std::uint64_t address) const {
    const auto behind = functions_.upper_bound(address);
    if (behind == functions_.begin()) {
        return std::nullopt;
    }
    const auto& [start, code] = *std::prev(behind);
    if (address >= code.end) {
        return std::nullopt;
    }
    return Function{start, code.end - start, code.name};
}

}  // namespace perfleet
