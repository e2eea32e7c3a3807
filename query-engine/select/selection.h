// Which sessions and which time a query is about: `--select '{label="v", arch=~"aarch.*"}'`, `--session`, `--from`,
// `--to`.
//
// Plain values; parsing takes untrusted text and answers with errors that name the position.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "storage/store/batch.h"

namespace perfleet {

// One condition on a label. Beside the target's own labels there are `target` (name), `arch` and `session` (32 hex
// digits). A label that a session doesn't have counts as the empty string. Regular expressions are RE2's and match the
// whole value.
struct Matcher {
    enum class Operator : std::uint8_t { kEqual, kNotEqual, kMatches, kNotMatches };  // = != =~ !~

    std::string label;
    Operator op{};
    std::string value;
};

struct Selection {
    std::vector<Matcher> matchers;     // all must hold
    std::optional<UtcNs> from;         // included
    std::optional<UtcNs> to;           // excluded
    std::string session;               // prefix of the session's 32 hex digits, "last" (by start), "last~1"; empty: all
    std::optional<std::string> event;  // only this event, by name
    unsigned thread_count = 0;         // of the scan; 0: one a core. Answers don't depend on it.
};

// `{a="b", c!="d", e=~"f.*", g!~"h"}`; the empty string and `{}` select all. Strings know \" and \\.
[[nodiscard]] Result<std::vector<Matcher>> parse_matchers(std::string_view text);

// RFC 3339, `now`, or an offset from now: `-15m`, `-2h`, `-30s`, `-7d`.
[[nodiscard]] Result<UtcNs> parse_time(std::string_view text, UtcNs now);

// RFC 3339 in UTC with nine digits of fraction: what parse_time reads back exactly.
[[nodiscard]] std::string format_time(UtcNs time);

// Whether the session's labels satisfy all matchers. Errors: kUsage for an invalid regular expression.
[[nodiscard]] Result<bool> matches(const std::vector<Matcher>& matchers, const SessionRecord& session);

[[nodiscard]] std::string session_hex(SessionId session);

}  // namespace perfleet
