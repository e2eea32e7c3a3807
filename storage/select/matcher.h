// Selects sessions by labels: `{label="v", arch=~"aarch.*"}`, for queries and retention classes.
//
// Plain values; parsing takes untrusted text and answers with errors that name the position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"

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

// `{a="b", c!="d", e=~"f.*", "any name"!~"h"}`, as in PromQL; the empty string and `{}` select all. In strings \" and
// \\ are escapes. Errors: kUsage; the message begins with `where`, the place of the text.
[[nodiscard]] Result<std::vector<Matcher>> parse_matchers(std::string_view text, std::string_view where = "--select");

// The text from which parse_matchers() makes the same matchers.
[[nodiscard]] std::string matchers_text(const std::vector<Matcher>& matchers);

// The end of the matchers that begin the text: after the first } outside of strings.
[[nodiscard]] std::size_t end_of_matchers(std::string_view text);

// Whether sessions' labels satisfy all matchers, with regular expressions compiled once. Threads: any.
class SessionFilter {
public:
    // Errors: kUsage (an invalid regular expression, which parse_matchers rejects, too).
    [[nodiscard]] static Result<SessionFilter> make(const std::vector<Matcher>& matchers);

    [[nodiscard]] bool takes(const SessionRecord& session) const;

private:
    struct Condition;
    std::vector<std::shared_ptr<const Condition>> conditions_;
};

// As SessionFilter, for one session.
[[nodiscard]] Result<bool> matches(const std::vector<Matcher>& matchers, const SessionRecord& session);

// The value of a label, as matchers compare it: also of `target`, `arch` and `session`.
[[nodiscard]] std::string matched_value(const SessionRecord& session, std::string_view label);

[[nodiscard]] std::string session_hex(SessionId session);

}  // namespace perfleet
