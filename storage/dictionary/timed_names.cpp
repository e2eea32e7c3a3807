#include "storage/dictionary/timed_names.h"

#include <algorithm>

namespace perfleet {

std::uint32_t TimedNames::intern(std::string_view text) {
    const auto [entry, is_new] = numbers_.try_emplace(std::string{text}, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) {
        texts_.emplace_back(text);
    }
    return entry->second;
}

void TimedNames::rename(std::uint32_t number, Ticks ticks, std::uint32_t name) {
    std::vector<Change>& changes = changes_[number];
    if (!changes.empty() && changes.back().name == name) {
        return;
    }
    if (!changes.empty() && changes.back().ticks == ticks) {
        changes.back().name = name;
        return;
    }
    changes.push_back({ticks, name});
}

void TimedNames::name_back(std::uint32_t number, Ticks ticks, std::uint32_t name) {
    std::vector<Change>& changes = changes_[number];
    if (!changes.empty() && changes.back().name == kNoName) {
        changes.back().name = name;
    } else {
        rename(number, ticks, name);
    }
}

TimedNames::Span TimedNames::at(std::uint32_t number, Ticks ticks) const {
    const auto found = changes_.find(number);
    if (found == changes_.end()) {
        return {};
    }
    const std::vector<Change>& changes = found->second;
    const auto after = std::upper_bound(changes.begin(), changes.end(), ticks,
                                        [](Ticks value, const Change& change) { return value < change.ticks; });
    Span span;
    if (after != changes.end()) {
        span.until = after->ticks;
    }
    if (after != changes.begin()) {
        span.name = (after - 1)->name;
        span.from = (after - 1)->ticks;
    }
    return span;
}

}  // namespace perfleet
