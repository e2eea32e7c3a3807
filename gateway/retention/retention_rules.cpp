#include "gateway/retention/retention_rules.h"
#include "schemas/text/amount.h"
#include "schemas/vocabulary/kinds.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <utility>

namespace perfleet {
namespace {

constexpr std::string_view kSpaces = " \t\r";
constexpr std::string_view kDefaultName = "default";
constexpr std::uint64_t kSizeBytesMax = 1ULL << 60;

// Kinds that a rule can name as an event; definitions and tasks follow all events, details their samples.
constexpr auto kEventKinds = [] {
    constexpr auto kMeasured = kinds_with<&KindTraits::is_measured>();
    std::array<Kind, kMeasured.size() - 1> kinds{};
    std::copy_if(kMeasured.begin(), kMeasured.end(), kinds.begin(),
                 [](Kind kind) { return kind != Kind::kDetailedSample; });
    return kinds;
}();

bool is_class_name(std::string_view name) {
    return !name.empty() && name.size() <= RetentionClass::kNameSizeBytesMax &&
           std::all_of(name.begin(), name.end(), [](char letter) {
               return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '-' ||
                      letter == '.';
           });
}

class LineParser {
public:
    LineParser(std::string_view line, std::string where) : rest_{line}, where_{std::move(where)} {}

    Result<Done> parse_into(RetentionRules& rules, bool& has_default) {
        const std::string_view first = word();
        if (first.empty()) {
            return Done{};
        }
        if (first == kDefaultName) {
            if (std::exchange(has_default, true)) {
                return error("there is one line `default` at most");
            }
            return policy(word(), rules.rest);
        }
        if (first != "class") {
            return error("a line begins with `class NAME NUMBER` or with `default`");
        }
        if (rules.classes.size() == RetentionRules::kClassesMax) {
            return error("more than " + std::to_string(RetentionRules::kClassesMax) + " classes");
        }
        RetentionClass made;
        PERFLEET_TRY(name_into(made, rules));
        auto next = PERFLEET_TRY(sessions(made));
        auto read = policy(next, made.policy);
        if (read.ok()) {
            rules.classes.push_back(std::move(made));
        }
        return read;
    }

private:
    Result<Done> name_into(RetentionClass& made, const RetentionRules& rules) {
        const std::string_view name = word();
        if (!is_class_name(name) || name == kDefaultName) {
            return error("a class is called by letters, digits, '-', '_' and '.', and not `default`");
        }
        const auto number = number_of<std::uint8_t>(word());
        if (!number || *number == RetentionRules::kDefaultClass) {
            return error("class " + std::string{name} +
                         " needs a number from 1 to 255; it is stored, so a class keeps it forever");
        }
        for (const RetentionClass& other : rules.classes) {
            if (other.name == name || other.number == *number) {
                return error("another class has the " + std::string{other.name == name ? "name " : "number "} +
                             (other.name == name ? other.name : std::to_string(other.number)));
            }
        }
        made.name = name;
        made.number = *number;
        return Done{};
    }

    // Parses the sessions, up to the next word.
    Result<std::string_view> sessions(RetentionClass& made) {
        bool says_which = false;
        skip_spaces();
        if (!rest_.empty() && rest_.front() == '{') {
            const std::size_t end = end_of_matchers(rest_);
            made.matchers = PERFLEET_TRY(parse_matchers(rest_.substr(0, end), where_));
            rest_.remove_prefix(end);
            says_which = true;
        }
        std::string_view next = word();
        if (next == "with" || next == "only") {
            made.kinds_are = next == "with" ? RetentionClass::Kinds::kWith : RetentionClass::Kinds::kOnly;
            PERFLEET_TRY(kinds(word(), made.kinds));
            next = word();
            says_which = true;
        } else if (next == "none" && !says_which) {
            made.takes_in = false;
            next = word();
            says_which = true;
        }
        if (!says_which) {
            return error("class " + made.name +
                         " doesn't say whom it takes in: {label=\"value\"}, with KIND, only KIND, or none");
        }
        return next;
    }

    Result<Done> kinds(std::string_view text, std::vector<Kind>& kinds) const {
        while (true) {
            const std::size_t comma = std::min(text.find(','), text.size());
            const std::string_view name = text.substr(0, comma);
            const auto found = std::find_if(kEventKinds.begin(), kEventKinds.end(),
                                            [&](Kind kind) { return kind_name(kind) == name; });
            if (found == kEventKinds.end()) {
                std::string all;
                for (const Kind kind : kEventKinds) {
                    all += (all.empty() ? "" : ", ") + std::string{kind_name(kind)};
                }
                return error("no kind is called \"" + std::string{name} + "\"; there are " + all +
                             ", several with commas and no spaces between");
            }
            kinds.push_back(*found);
            if (comma == text.size()) {
                return Done{};
            }
            text.remove_prefix(comma + 1);
        }
    }

    Result<Done> policy(std::string_view keep, RetentionPolicy& policy) {
        std::string_view amount = word();
        if (keep != "keep" || amount.empty()) {
            return error("its limits are missing: `keep 30d`, `keep 20g`, `keep 30d 20g` or `keep forever`");
        }
        if (amount == "forever") {
            return word().empty() ? Result<Done>{Done{}} : error("nothing may follow `keep forever`");
        }
        for (; !amount.empty(); amount = word()) {
            const std::uint64_t age_s = amount_of(amount, kAgeUnits, RetentionPolicy::kAgeMaxS).value_or(0);
            const std::uint64_t size_bytes = amount_of(amount, kSizeUnits, kSizeBytesMax).value_or(0);
            if (age_s != 0 && !policy.age_s) {
                policy.age_s = static_cast<std::int64_t>(age_s);
            } else if (size_bytes != 0 && !policy.size_bytes) {
                policy.size_bytes = size_bytes;
            } else {
                return error("\"" + std::string{amount} +
                             "\" can't be parsed: give an age (12h, 30d, 8w), a size (500m, 20g, 2t), or both");
            }
        }
        return Done{};
    }

    void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpaces), rest_.size())); }

    // The next word; empty at the end, or before a comment.
    std::string_view word() {
        skip_spaces();
        if (!rest_.empty() && rest_.front() == '#') {
            rest_ = {};
        }
        const std::string_view word = rest_.substr(0, rest_.find_first_of(kSpaces));
        rest_.remove_prefix(word.size());
        return word;
    }

    [[nodiscard]] Error error(const std::string& what) const { return Error{ErrorCode::kUsage, where_ + ": " + what}; }

    std::string_view rest_;
    std::string where_;
};

bool fits_kinds(const RetentionClass& one, const SessionRecord& session) {
    const auto is_named = [&](const EventRecord& event) {
        return std::find(one.kinds.begin(), one.kinds.end(), event.kind) != one.kinds.end();
    };
    switch (one.kinds_are) {
        case RetentionClass::Kinds::kAny: return true;
        case RetentionClass::Kinds::kWith: return std::any_of(session.events.begin(), session.events.end(), is_named);
        case RetentionClass::Kinds::kOnly:
            return !session.events.empty() && std::all_of(session.events.begin(), session.events.end(), is_named);
    }
    return false;
}

}  // namespace

bool RetentionRules::keeps_everything() const {
    return rest.keeps_everything() && std::all_of(classes.begin(), classes.end(), [](const RetentionClass& one) {
               return one.policy.keeps_everything();
           });
}

std::uint8_t RetentionRules::class_of(const SessionRecord& session) const {
    for (const RetentionClass& one : classes) {
        if (one.takes_in && fits_kinds(one, session)) {
            // Patterns were checked when the rules were read.
            if (const auto fits = matches(one.matchers, session); fits.ok() && *fits) {
                return one.number;
            }
        }
    }
    return kDefaultClass;
}

Result<RetentionRules> parse_retention_rules(std::string_view text, std::string_view place) {
    RetentionRules rules;
    bool has_default = false;
    for (std::size_t line = 1; !text.empty(); ++line) {
        LineParser parser{take_part(text, '\n'), std::string{place} + ":" + std::to_string(line)};
        PERFLEET_TRY(parser.parse_into(rules, has_default));
    }
    return rules;
}

Result<RetentionRules> load_retention_rules(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    std::string text(RetentionRules::kFileSizeBytesMax + 1, '\0');
    if (!in || !(in.read(text.data(), static_cast<std::streamsize>(text.size())) || in.eof())) {
        return error_from_errno(errno, file);
    }
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > RetentionRules::kFileSizeBytesMax) {
        return Error{ErrorCode::kUsage,
                     file + ": larger than " + std::to_string(RetentionRules::kFileSizeBytesMax) + " bytes"};
    }
    return parse_retention_rules(text, file);
}

}  // namespace perfleet
