#include "query-engine/symbol/symbol_table.h"

#include <algorithm>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

void SymbolTable::reserve(std::size_t range_count, std::size_t name_count, std::size_t name_size_bytes) {
    ranges_.reserve(range_count);
    name_offsets_.reserve(name_count + 1);
    names_.reserve(name_size_bytes);
}

std::uint32_t SymbolTable::add_name(std::string_view name) {
    names_.append(name);
    PERFLEET_ASSERT(names_.size() <= ~0U);
    name_offsets_.push_back(static_cast<std::uint32_t>(names_.size()));
    return static_cast<std::uint32_t>(name_offsets_.size() - 2);
}

void SymbolTable::add_range(std::uint64_t first, std::uint64_t start, std::uint32_t name_number) {
    PERFLEET_ASSERT(ranges_.empty() || ranges_.back().first < first);
    if (!ranges_.empty() && ranges_.back().name_number == name_number && ranges_.back().start == start) {
        return;
    }
    ranges_.push_back({first, start, name_number});
}

void SymbolTable::add_gap(std::uint64_t first, std::uint64_t function_start) {
    add_range(first, function_start, kNoName);
}

void SymbolTable::shrink_to_fit() {
    ranges_.shrink_to_fit();
    name_offsets_.shrink_to_fit();
    names_.shrink_to_fit();
}

bool SymbolTable::find(std::uint64_t offset, Hit& hit) const {
    const auto next = std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                                       [](std::uint64_t value, const Range& range) { return value < range.first; });
    hit.last = next == ranges_.end() ? ~0ULL : next->first - 1;
    if (next == ranges_.begin()) {
        hit.start = hit.first = 0;
        return false;
    }
    const Range& range = *std::prev(next);
    hit.start = range.start;
    hit.first = range.first;
    if (range.name_number == kNoName) {
        return false;
    }
    hit.name = name(range.name_number);
    return true;
}

std::string_view SymbolTable::name(std::uint32_t name_number) const {
    const std::size_t first = name_offsets_[name_number];
    return std::string_view{names_}.substr(first, name_offsets_[name_number + 1] - first);
}

std::size_t SymbolTable::size_bytes() const {
    return sizeof(*this) + ranges_.capacity() * sizeof(Range) + name_offsets_.capacity() * sizeof(std::uint32_t) +
           names_.capacity();
}

}  // namespace perfleet
