// Which of several texts holds for a number (a thread, a process) at a given time.
//
// Built by one thread, then read by many.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/vocabulary/time.h"

namespace perfleet {

class TimedNames {
public:
    static constexpr std::uint32_t kNoName = ~0U;

    // A name and the ticks [from, until) in which it holds.
    struct Span {
        std::uint32_t name = kNoName;  // index, see text()
        Ticks from{0};
        Ticks until{~0ULL};
    };

    [[nodiscard]] std::uint32_t intern(std::string_view text);
    // The name holds from `ticks` on. Times of one number must ascend.
    void rename(std::uint32_t number, Ticks ticks, std::uint32_t name);
    // As rename(); if no name held since the last change, the name holds from that change on.
    void name_back(std::uint32_t number, Ticks ticks, std::uint32_t name);

    [[nodiscard]] Span at(std::uint32_t number, Ticks ticks) const;
    [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

private:
    struct Change {
        Ticks ticks;
        std::uint32_t name;
    };

    std::vector<std::string> texts_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::unordered_map<std::uint32_t, std::vector<Change>> changes_;  // ascending by ticks
};

}  // namespace perfleet
