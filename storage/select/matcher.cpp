// Labels, matchers and their regular expressions.
//
// Patterns are untrusted, so RE2 matches them: in linear time and bounded memory, whatever the pattern.
#include "storage/select/matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

constexpr std::size_t kMatchersMax = 32;
constexpr std::size_t kPatternSizeBytesMax = 1'024;
constexpr std::int64_t kPatternMemorySizeBytesMax = 1 << 20;

// As in PromQL: strings in `…` have no escapes.
bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

class MatcherParser {
public:
    MatcherParser(std::string_view text, std::string_view where) : text_{text}, where_{where} {}

    Result<std::vector<Matcher>> parse() {
        std::vector<Matcher> matchers;
        skip_space();
        if (at_end()) {
            return matchers;
        }
        if (!take('{')) {
            return error("expected '{'");
        }
        skip_space();
        while (!take('}')) {
            if (matchers.size() == kMatchersMax) {
                return error("more than " + std::to_string(kMatchersMax) + " conditions");
            }
            auto matcher = PERFLEET_TRY(condition());
            matchers.push_back(std::move(matcher));
            skip_space();
            if (!take(',') && peek() != '}') {
                return error("expected ',' or '}'");
            }
            skip_space();
        }
        skip_space();
        if (!at_end()) {
            return error("text after '}'");
        }
        return matchers;
    }

private:
    Result<Matcher> condition() {
        Matcher matcher;
        if (is_quote(peek())) {  // any name, as in PromQL
            matcher.label = PERFLEET_TRY(quoted());
        } else {
            while (!at_end() && is_label_character(peek())) {
                matcher.label += text_[position_++];
            }
        }
        if (matcher.label.empty()) {
            return error("expected a label's name");
        }
        skip_space();
        if (take('=')) {
            matcher.op = take('~') ? Matcher::Operator::kMatches : Matcher::Operator::kEqual;
        } else if (take('!') && (peek() == '=' || peek() == '~')) {
            matcher.op = text_[position_++] == '=' ? Matcher::Operator::kNotEqual : Matcher::Operator::kNotMatches;
        } else {
            return error("expected =, !=, =~ or !~");
        }
        skip_space();
        if (!is_quote(peek())) {
            return error("expected a value in \"quotes\"");
        }
        matcher.value = PERFLEET_TRY(quoted());
        return matcher;
    }

    Result<std::string> quoted() {
        const char quote = text_[position_++];
        std::string value;
        while (!take(quote)) {
            if (at_end()) {
                return error("missing closing quote");
            }
            if (quote != '`' && take('\\')) {
                // \" and \\ stand for the quote and the backslash; other pairs are kept as they are (\. in a pattern).
                if (peek() != quote && peek() != '\\') {
                    value += '\\';
                    continue;
                }
            }
            value += text_[position_++];
        }
        return value;
    }

    static bool is_label_character(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
    }
    [[nodiscard]] bool at_end() const { return position_ == text_.size(); }
    [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[position_]; }
    bool take(char c) {
        if (at_end() || text_[position_] != c) {
            return false;
        }
        ++position_;
        return true;
    }
    void skip_space() {
        while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\n')) {
            ++position_;
        }
    }
    [[nodiscard]] Error error(const std::string& what) const {
        return Error{ErrorCode::kUsage, std::string{where_} + ": " + what + " at position " +
                                            std::to_string(position_ + 1) +
                                            "; it is written like '{label=\"value\", arch=~\"aarch.*\"}'"};
    }

    std::string_view text_;
    std::string_view where_;
    std::size_t position_ = 0;
};

Error pattern_error(std::string_view where, const std::string& pattern, const std::string& what) {
    return Error{ErrorCode::kUsage, std::string{where} + ": regular expression \"" + pattern + "\": " + what};
}

Result<std::unique_ptr<RE2>> compiled_pattern(const std::string& pattern, std::string_view where) {
    if (pattern.size() > kPatternSizeBytesMax) {
        return pattern_error(where, pattern.substr(0, 32) + "…",
                             "longer than " + std::to_string(kPatternSizeBytesMax) + " bytes");
    }
    RE2::Options options;
    options.set_max_mem(kPatternMemorySizeBytesMax);
    options.set_log_errors(false);
    options.set_dot_nl(true);
    auto compiled = std::make_unique<RE2>(pattern, options);
    if (!compiled->ok()) {
        return pattern_error(where, pattern, compiled->error() + " (the syntax is RE2's)");
    }
    return compiled;
}

bool has_pattern(const Matcher& matcher) {
    return matcher.op == Matcher::Operator::kMatches || matcher.op == Matcher::Operator::kNotMatches;
}

}  // namespace

Result<std::vector<Matcher>> parse_matchers(std::string_view text, std::string_view where) {
    if (text.size() > limits::kSelectSizeBytesMax) {
        return Error{ErrorCode::kUsage,
                     std::string{where} + ": longer than " + std::to_string(limits::kSelectSizeBytesMax) + " bytes"};
    }
    Result<std::vector<Matcher>> matchers = MatcherParser{text, where}.parse();
    if (matchers.ok()) {
        // An invalid pattern is an error even if there is no session to match.
        for (const Matcher& matcher : *matchers) {
            if (has_pattern(matcher)) {
                PERFLEET_TRY(compiled_pattern(matcher.value, where));
            }
        }
    }
    return matchers;
}

std::size_t end_of_matchers(std::string_view text) {
    char quote = '\0';  // of the string; none outside of strings
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (quote != '\0' && quote != '`' && text[i] == '\\') {
            ++i;
        } else if (quote != '\0') {
            quote = text[i] == quote ? '\0' : quote;
        } else if (is_quote(text[i])) {
            quote = text[i];
        } else if (text[i] == '}') {
            return i + 1;
        }
    }
    return text.size();
}

struct SessionFilter::Condition {
    Matcher matcher;
    std::unique_ptr<RE2> pattern;  // if has_pattern()
};

Result<SessionFilter> SessionFilter::make(const std::vector<Matcher>& matchers) {
    SessionFilter filter;
    for (const Matcher& matcher : matchers) {
        auto condition = std::make_shared<Condition>();
        condition->matcher = matcher;
        if (has_pattern(matcher)) {
            condition->pattern = PERFLEET_TRY(compiled_pattern(matcher.value, "label " + matcher.label));
        }
        filter.conditions_.push_back(std::move(condition));
    }
    return filter;
}

bool SessionFilter::takes(const SessionRecord& session) const {
    return std::all_of(conditions_.begin(), conditions_.end(), [&](const auto& condition) {
        const Matcher& matcher = condition->matcher;
        const std::string value = matched_value(session, matcher.label);
        const bool is_same = condition->pattern ? RE2::FullMatch(value, *condition->pattern) : value == matcher.value;
        const bool is_negated =
            matcher.op == Matcher::Operator::kNotEqual || matcher.op == Matcher::Operator::kNotMatches;
        return is_same != is_negated;
    });
}

Result<bool> matches(const std::vector<Matcher>& matchers, const SessionRecord& session) {
    const auto filter = PERFLEET_TRY(SessionFilter::make(matchers));
    return filter.takes(session);
}

std::string matched_value(const SessionRecord& session, std::string_view label) {
    if (label == "target") {
        return session.target_name;
    }
    if (label == "arch") {
        return session.architecture;
    }
    if (label == "session") {
        return session_hex(session.session);
    }
    for (const auto& [key, value] : session.labels) {
        if (key == label) {
            return value;
        }
    }
    return {};
}

std::string matchers_text(const std::vector<Matcher>& matchers) {
    constexpr std::array<std::string_view, 4> kOperators{"=", "!=", "=~", "!~"};
    const auto quoted = [](const std::string& text) {
        std::string result{'"'};
        for (const char c : text) {
            result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
        }
        return result + '"';
    };
    std::string text{'{'};
    for (const Matcher& matcher : matchers) {
        text += (text.size() == 1 ? "" : ",") + quoted(matcher.label);
        text += kOperators.at(static_cast<std::size_t>(matcher.op));
        text += quoted(matcher.value);
    }
    return text + '}';
}

std::string session_hex(SessionId session) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex(32, '0');
    for (unsigned i = 0; i < 16; ++i) {
        hex[15 - i] = kDigits[(session.high >> (4 * i)) & 15U];
        hex[31 - i] = kDigits[(session.low >> (4 * i)) & 15U];
    }
    return hex;
}

}  // namespace perfleet
