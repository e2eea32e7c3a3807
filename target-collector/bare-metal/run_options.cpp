#include "target-collector/bare-metal/run_options.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint64_t kNumberMax = 1'000'000'000;

// string_view's own find() and substr() need memchr() and an exception.

// Offset of the first `letter` from `begin` on, the text's size where there is none.
std::size_t find_letter(std::string_view text, char letter, std::size_t begin = 0) {
    while (begin < text.size() && text[begin] != letter) {
        ++begin;
    }
    return begin;
}

// From `begin` to before `end`, both within.
std::string_view part(std::string_view text, std::size_t begin, std::size_t end) {
    return {text.data() + begin, end - begin};
}

// Decimal, 1 to kNumberMax.
bool take_number(std::string_view text, std::uint64_t& into) {
    into = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9' || into > kNumberMax) {
            return false;
        }
        into = into * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return into > 0 && into <= kNumberMax;
}

bool take_circle(std::string_view text, CircleShape& into) {
    const auto shape = parse_circle_shape(text);
    into = shape.value_or(into);
    return shape.has_value();
}

bool take_session(std::string_view text, SessionId& into) {
    constexpr std::size_t kDigits = 32;
    into = {};
    if (text.size() != kDigits) {
        return false;
    }
    for (std::size_t i = 0; i < kDigits; ++i) {
        const char digit = text[i];
        const bool is_letter = digit >= 'a' && digit <= 'f';
        if (!is_letter && (digit < '0' || digit > '9')) {
            return false;
        }
        // Takes the same number of instructions for every digit, so that runs of all sessions are equal where time
        // counts instructions.
        const unsigned letter = static_cast<unsigned char>(digit);
        std::uint64_t& half = i < kDigits / 2 ? into.high : into.low;
        half = half << 4 | ((letter & 0xf) + (letter >> 6) * 9);
    }
    return !into.is_none();
}

bool take_word(std::string_view word, RunOptions& into) {
    const std::size_t equals = find_letter(word, '=');
    if (equals == word.size()) {
        return false;
    }
    const std::string_view name = part(word, 0, equals);
    const std::string_view value = part(word, equals + 1, word.size());
    if (name == "seconds") {
        return take_number(value, into.seconds);
    }
    if (name == "samples") {
        return take_number(value, into.samples_min);
    }
    if (name == "handshakes") {
        return take_number(value, into.handshakes_min);
    }
    if (name == "turns") {
        return take_number(value, into.turns);
    }
    if (name == "load") {
        into.is_circle = true;
        return value == "circle";
    }
    if (name == "circle") {
        into.is_circle = true;
        return take_circle(value, into.circle);
    }
    if (name == "trace") {
        into.is_traced = true;
        return value == "on";
    }
    if (name == "period") {
        into.is_in_step = true;
        return value == "loop";
    }
    if (name == "port") {
        into.has_uart = true;
        return value == "uart";
    }
    if (name == "keys") {
        into.has_keys = true;
        return value == "on";
    }
    if (name == "gateway") {
        into.gateway = parse_ipv4_endpoint(value);
        return into.gateway.has_value();
    }
    if (name == "address") {
        into.address = parse_ipv4_network(value);
        return into.address.has_value();
    }
    if (name == "sink") {
        into.is_for_file = true;
        return value == "file";
    }
    if (name == "console") {
        into.prints_to_host = true;
        return value == "host";
    }
    if (name == "stream") {
        into.streams_after = true;
        return value == "after";
    }
    return name == "session" && take_session(value, into.session);
}

}  // namespace

Checked<RunOptions> parse_run_options(std::string_view text) {
    RunOptions options;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = find_letter(text, ' ', at);
        if (end > at && !take_word(part(text, at, end), options)) {
            return Fault{ErrorCode::kInvalid, at, end - at};
        }
        at = end + 1;
    }
    return options;
}

}  // namespace perfleet::bare_metal
