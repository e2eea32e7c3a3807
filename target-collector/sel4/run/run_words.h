// Options of a root task's run, given to the machine at start: words separated by a blank, all optional.
//
//   seconds=N        how long (6)
//   delete=N         seconds until the busy thread and the stack of the one in another address space are deleted
//   circle=I,D,G,S   accumulated latencies (30,1,5,30): small/circle_shape.h
//   gateway=A.B.C.D:PORT            telemetry goes over TCP to this gateway, by the network card
//   address=A.B.C.D/BITS[,A.B.C.D]  with gateway: the board's address, and its router's; otherwise by DHCP
//   keys=on          the board has keys, and accepts its gateway alone
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "target-collector/network/ipv4.h"
#include "target-collector/small/circle_shape.h"

namespace perfleet::sel4 {

inline constexpr std::uint64_t kRunSecondsMax = 1'000'000;
inline constexpr std::uint64_t kCircleTestsMax = 600;  // of calls, and as many of notifications: G × S

// The message with which a board stops if the words can't be parsed.
inline constexpr const char* kRunWordsError =
    "is not seconds=N delete=N circle=I,D,G,S, at most 600 tests (G times S), gateway=A.B.C.D:PORT, "
    "address=A.B.C.D/BITS[,A.B.C.D], keys=on";

struct RunWords {
    std::uint64_t seconds = 6;
    std::uint64_t delete_after_seconds = kRunSecondsMax;  // never
    CircleShape circle{.initial_size = 30, .size_delta = 1, .group_count = 5, .test_count = 30};
    std::optional<Ipv4Endpoint> gateway;
    std::optional<Ipv4Network> address;
    bool has_keys = false;
};

namespace run_words_detail {

[[nodiscard]] inline bool take_seconds(std::string_view text, std::uint64_t& into) {
    into = 0;
    for (const char letter : text) {
        const auto digit = static_cast<std::uint64_t>(letter - '0');
        if (digit > 9 || into > kRunSecondsMax) {
            return false;
        }
        into = into * 10 + digit;
    }
    return !text.empty();
}

[[nodiscard]] inline bool take_circle(std::string_view text, CircleShape& into) {
    const auto shape = parse_circle_shape(text);
    if (!shape || shape->test_count > kCircleTestsMax || shape->group_count > kCircleTestsMax / shape->test_count) {
        return false;
    }
    into = *shape;
    return true;
}

// The text after `name`. Nothing: the word doesn't begin with it.
[[nodiscard]] inline std::optional<std::string_view> value_of(std::string_view word, std::string_view name) {
    return word.starts_with(name)
               ? std::optional{std::string_view{word.data() + name.size(), word.size() - name.size()}}
               : std::nullopt;
}

}  // namespace run_words_detail

// Nothing: a word is unknown, or there are too many tests.
[[nodiscard]] inline std::optional<RunWords> parse_run_words(std::string_view text) {
    using namespace run_words_detail;
    RunWords words;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && text[end] != ' ') {
            ++end;
        }
        const std::string_view word{text.data() + at, end - at};
        if (const auto seconds = value_of(word, "seconds=")) {
            if (!take_seconds(*seconds, words.seconds)) {
                return std::nullopt;
            }
        } else if (const auto delete_after = value_of(word, "delete=")) {
            if (!take_seconds(*delete_after, words.delete_after_seconds)) {
                return std::nullopt;
            }
        } else if (const auto circle = value_of(word, "circle=")) {
            if (!take_circle(*circle, words.circle)) {
                return std::nullopt;
            }
        } else if (const auto gateway = value_of(word, "gateway=")) {
            words.gateway = parse_ipv4_endpoint(*gateway);
            if (!words.gateway) {
                return std::nullopt;
            }
        } else if (const auto address = value_of(word, "address=")) {
            words.address = parse_ipv4_network(*address);
            if (!words.address) {
                return std::nullopt;
            }
        } else if (word == "keys=on") {
            words.has_keys = true;
        } else if (!word.empty()) {
            return std::nullopt;
        }
        at = end + 1;
    }
    return words;
}

}  // namespace perfleet::sel4
