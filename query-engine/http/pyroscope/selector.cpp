#include "query-engine/http/pyroscope/selector.h"

#include <algorithm>

#include "query-engine/select/selection.h"
#include "schemas/vocabulary/off_cpu.h"
#include "schemas/vocabulary/time.h"

namespace perfleet::pyroscope {
namespace {

constexpr const char* kValue = "value";             // the label of a session that has the value alone
constexpr std::int64_t kMsMax = 9'000'000'000'000;  // some time in the year 2255, the last that ns can count

bool is_of_rows(const std::string& key) { return key == "comm" || key == "unit" || key == "container"; }

// The name as a glob that matches it. Characters that a list of globs can't contain become `?`.
std::string glob_of(const std::string& name) {
    std::string glob;
    for (const char c : name) {
        const bool is_special = c == '*' || c == '?' || c == '\\';
        const bool is_of_lists = std::string_view{",()[]<>"}.find(c) != std::string_view::npos;
        glob += is_of_lists ? "?" : is_special ? std::string{'\\', c} : std::string(1, c);
    }
    return glob;
}

std::vector<Matcher> joined(std::vector<Matcher> a, const std::vector<Matcher>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

OptionValues with_select(OptionValues values, const std::vector<Matcher>& matchers) {
    if (!matchers.empty()) {
        values["select"] = matchers_text(matchers);
    }
    return values;
}

}  // namespace

Result<Done> TimeRange::check() const {
    return start_ms < end_ms && start_ms >= 0 && end_ms <= kMsMax
               ? Result<Done>{Done{}}
               : Error{ErrorCode::kInvalid, "start " + std::to_string(start_ms) + " and end " + std::to_string(end_ms) +
                                                " are no range of milliseconds since 1970"};
}

OptionValues TimeRange::values() const {
    return {{"from", format_time(UtcNs{start_ms * kNsPerMs})}, {"until", format_time(UtcNs{end_ms * kNsPerMs})}};
}

Result<Selector> Selector::read(std::string_view text) {
    Selector selector;
    std::vector<Matcher> types;
    for (Matcher& matcher : PERFLEET_TRY(parse_matchers(text, "label selector"))) {
        (matcher.label == kServiceName   ? selector.services
         : matcher.label == kProfileType ? types
                                         : selector.rest)
            .push_back(std::move(matcher));
    }
    selector.types = PERFLEET_TRY(ValueFilter::make(std::move(types)));
    return selector;
}

Result<ValueFilter> ValueFilter::make(std::vector<Matcher> matchers) {
    std::ranges::for_each(matchers, [](Matcher& matcher) { matcher.label = kValue; });
    ValueFilter filter;
    filter.filter_ = PERFLEET_TRY(SessionFilter::make(matchers));
    return filter;
}

bool ValueFilter::takes(const std::string& value) const {
    SessionRecord session;
    session.labels.emplace_back(kValue, value);
    return filter_.takes(session);
}

Result<bool> Services::has_label(const OptionValues& range) const {
    const auto labels = PERFLEET_TRY(ask_table(backend_, "labels", range, cancelled_));
    return std::ranges::any_of(labels.rows,
                               [](const auto& row) { return std::get<std::string>(row.front()) == kServiceName; });
}

// The services among the part's rows that fulfil the matchers.
Result<std::vector<std::string>> Services::names(const Part& part, const std::vector<Matcher>& matchers) const {
    if (matchers.size() == 1 && matchers.front().op == Matcher::Operator::kEqual) {
        return std::vector<std::string>{matchers.front().value};
    }
    OptionValues values = part.values;
    values["by"] = part.service_key;
    const auto series = PERFLEET_TRY(ask_table(backend_, "series", std::move(values), cancelled_));
    const auto filter = PERFLEET_TRY(ValueFilter::make(matchers));
    std::vector<std::string> names;
    for (const std::vector<AnswerValue>& row : series.rows) {
        const std::string& name = std::get<std::string>(row[1]);
        if (filter.takes(shown(name))) {
            names.push_back(name);
        }
    }
    return names;
}

Result<bool> Services::has_event(const OptionValues& values, const OptionValues& type) const {
    OptionValues wanted;
    for (const char* name : {"from", "until", "select"}) {
        if (const auto value = values.find(name); value != values.end()) {
            wanted.insert(*value);
        }
    }
    const auto named = type.find("event");
    const std::string event =
        named == type.end() ? std::string{off_cpu::kBlocked} : std::get<std::string>(named->second);
    const auto events = PERFLEET_TRY(ask_table(backend_, "events", std::move(wanted), cancelled_));
    return std::ranges::any_of(events.rows,
                               [&](const auto& row) { return std::get<std::string>(row.front()) == event; });
}

Result<std::vector<Part>> Services::parts(const Selector& selector, const OptionValues& range,
                                          const std::vector<OptionValues>& types, bool by_service) const {
    std::vector<Part> parts;
    for (const OptionValues& type : types) {
        PERFLEET_TRY(add_parts(selector, range, type, by_service, parts));
    }
    return parts;
}

Result<Done> Services::add_parts(const Selector& selector, const OptionValues& range, const OptionValues& type,
                                 bool by_service, std::vector<Part>& parts) const {
    OptionValues base = range;
    base.insert(type.begin(), type.end());
    const auto add = [&](OptionValues values, const std::string& key) -> Result<Done> {
        if (PERFLEET_TRY(has_event(values, type))) {  // else an error: no session recorded it
            parts.push_back({std::move(values), key});
        }
        return Done{};
    };
    if (selector.services.empty() && !by_service) {
        PERFLEET_TRY(add(with_select(std::move(base), selector.rest), key_));
        return Done{};
    }
    std::vector<Matcher> without = selector.rest;
    if (PERFLEET_TRY(has_label(range))) {
        const Matcher with{kServiceName, Matcher::Operator::kNotEqual, ""};
        PERFLEET_TRY(add(with_select(base, joined(joined(selector.rest, selector.services), {with})), kServiceName));
        without.push_back({kServiceName, Matcher::Operator::kEqual, ""});
    }
    if (!is_of_rows(key_)) {
        for (Matcher matcher : selector.services) {
            matcher.label = key_;
            without.push_back(std::move(matcher));
        }
        PERFLEET_TRY(add(with_select(std::move(base), without), key_));
        return Done{};
    }
    const std::size_t part_count = parts.size();
    PERFLEET_TRY(add(with_select(std::move(base), without), key_));
    if (parts.size() == part_count || selector.services.empty()) {
        return Done{};
    }
    std::string globs;
    for (const std::string& name : PERFLEET_TRY(names(parts.back(), selector.services))) {
        globs += (globs.empty() ? "" : ",") + glob_of(name);
    }
    if (globs.empty()) {
        parts.pop_back();
    } else {
        parts.back().values[key_] = globs;
    }
    return Done{};
}

}  // namespace perfleet::pyroscope
