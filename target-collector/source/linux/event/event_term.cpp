#include "target-collector/source/linux/event/event_term.h"

#include <algorithm>
#include <array>
#include <limits>

#include "schemas/host/suggestion.h"
#include "schemas/text/parse.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/source/linux/event/event_error.h"

namespace perfleet {
namespace {

constexpr std::size_t kNameTermSizeMax = 128;

// perf's terms that can't be recorded, and why.
struct RefusedTerm {
    std::string_view name;
    std::string_view why;
};
constexpr std::array kRefusedTerms{
    RefusedTerm{"config3", "perfleet fills in config, config1 and config2 alone; leave it out"},
    RefusedTerm{"branch_type", "branch stacks aren't recorded; for callers there is call-graph=fp"},
    RefusedTerm{"stack-size", "copies of the stack aren't recorded; for callers there is call-graph=fp"},
    RefusedTerm{"nr", "an event isn't switched off by a count; end the recording with --duration"},
    RefusedTerm{"overwrite", "rings that overwrite themselves aren't read; leave it out"},
    RefusedTerm{"percore", "counts aren't added up by core; leave it out and add those of its CPUs"},
    RefusedTerm{"aux-output", "AUX area tracing isn't recorded; perf record does it"},
    RefusedTerm{"aux-sample-size", "AUX area tracing isn't recorded; perf record does it"},
    RefusedTerm{"metric-id", "only perf stat computes metrics; leave it out"},
};

constexpr std::array<std::string_view, 11> kCommonTerms{"config",  "config1",    "config2",    "name",
                                                        "period",  "freq",       "call-graph", "max-stack",
                                                        "inherit", "no-inherit", "time"};

Error term_error(std::string_view event, const EventTerm& term, const std::string& why) {
    return event_error(event, "'" + std::string(term.name) + "': " + why);
}

// As in perf, a term without a value is 1.
std::optional<std::uint64_t> number_of(const EventTerm& term) {
    return term.value ? parse_number(*term.value) : std::optional<std::uint64_t>{1};
}

Result<Done> take_number(std::string_view event, const EventTerm& term, EventSpec& spec) {
    const auto number = number_of(term);
    if (!number) {
        return term_error(event, term, "a number must follow it, decimal or 0x…");
    }
    if (term.name == "config") {
        spec.config = *number;
    } else if (term.name == "config1") {
        spec.config1 = *number;
    } else if (term.name == "config2") {
        spec.config2 = *number;
    } else if (term.name == "max-stack") {
        if (*number == 0 || *number > limits::kStackDepthMax) {
            return term_error(event, term, "1 to " + std::to_string(limits::kStackDepthMax) + " frames");
        }
        spec.callchain_depth_max = static_cast<std::uint16_t>(*number);
    } else if (*number == 0 || *number > std::numeric_limits<std::int64_t>::max()) {
        return term_error(event, term, "at least 1 and below 2^63");
    } else {
        (term.name == "period" ? spec.period : spec.frequency_hz) = *number;
        (term.name == "period" ? spec.frequency_hz : spec.period).reset();
    }
    return Done{};
}

Result<Done> take_call_graph(std::string_view event, const EventTerm& term, EventSpec& spec) {
    if (!term.value || *term.value == "fp" || *term.value == "no") {
        spec.callchain = term.value != "no";
        return Done{};
    }
    return term_error(event, term, "a single event has 'fp' (frame pointers) or 'no'");
}

Result<Done> take_name(std::string_view event, const EventTerm& term, EventSpec& spec) {
    if (spec.is_tracepoint()) {
        return term_error(event, term, "a tracepoint keeps its own name, by which its fields are found");
    }
    const bool is_printable = term.value && !term.value->empty() && term.value->size() <= kNameTermSizeMax &&
                              std::all_of(term.value->begin(), term.value->end(),
                                          [](char c) { return c >= ' ' && static_cast<unsigned char>(c) != 127; });
    if (!is_printable) {
        return term_error(event, term, "a name of 1 to " + std::to_string(kNameTermSizeMax) + " printable characters");
    }
    spec.name = *term.value;
    return Done{};
}

}  // namespace

std::vector<EventTerm> split_terms(std::string_view text) {
    std::vector<EventTerm> terms;
    while (!text.empty()) {
        bool is_quoted = false;
        std::size_t end = 0;
        for (; end < text.size() && (is_quoted || text[end] != ','); ++end) {
            is_quoted = is_quoted != (text[end] == '\'');
        }
        const std::string_view whole = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        EventTerm term{whole.substr(0, whole.find('=')), std::nullopt};
        if (term.name.size() < whole.size()) {
            std::string_view value = whole.substr(term.name.size() + 1);
            if (value.size() >= 2 && value.front() == '\'' && value.back() == '\'') {
                value = value.substr(1, value.size() - 2);
            }
            term.value = value;
        }
        terms.push_back(term);
    }
    return terms;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
    const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
    text.remove_prefix(is_hex ? 2 : 0);
    return number_of<std::uint64_t>(text, is_hex ? 16 : 10);
}

std::optional<std::uint64_t> parse_raw_config(std::string_view text) {
    if (text.size() < 2 || text[0] != 'r') {
        return std::nullopt;
    }
    return number_of<std::uint64_t>(text.substr(text.substr(1).starts_with("0x") ? 3 : 1), 16);
}

Result<bool> take_common_term(std::string_view event, const EventTerm& term, EventSpec& spec) {
    const auto* const refused = std::find_if(kRefusedTerms.begin(), kRefusedTerms.end(),
                                             [&](const RefusedTerm& candidate) { return candidate.name == term.name; });
    if (refused != kRefusedTerms.end()) {
        return term_error(event, term, std::string(refused->why));
    }
    Result<Done> taken = Done{};
    if (term.name == "name") {
        taken = take_name(event, term, spec);
    } else if (term.name == "call-graph") {
        taken = take_call_graph(event, term, spec);
    } else if (term.name == "inherit" || term.name == "no-inherit") {
        const auto number = number_of(term);
        if (!number || *number > 1) {
            return term_error(event, term, "0 or 1");
        }
        spec.is_inherited = (term.name == "inherit") == (*number == 1);
    } else if (term.name == "time") {
        if (number_of(term) != 1U) {
            return term_error(event, term, "every sample is stored with its time; leave it out");
        }
    } else if (term.name == "no-overwrite") {
        return true;  // rings don't overwrite themselves
    } else if (std::find(kCommonTerms.begin(), kCommonTerms.end(), term.name) != kCommonTerms.end()) {
        const bool is_config = term.name.starts_with("config");
        if (is_config && spec.is_tracepoint()) {
            return term_error(event, term, "a tracepoint is named by its system and name alone");
        }
        taken = take_number(event, term, spec);
    } else {
        return false;
    }
    return taken.ok() ? Result<bool>{true} : Result<bool>{std::move(taken).error()};
}

Result<Done> take_common_terms(std::string_view event, std::string_view terms, EventSpec& spec) {
    for (const EventTerm& term : split_terms(terms)) {
        auto taken = PERFLEET_TRY(take_common_term(event, term, spec));
        if (!taken) {
            const std::string meant = did_you_mean(term.name, common_term_names());
            return event_error(event, "it has no term '" + std::string(term.name) + "'" +
                                          (meant.empty() ? "; it has " + quoted_list(common_term_names()) : meant));
        }
    }
    return Done{};
}

std::vector<std::string> common_term_names() { return {kCommonTerms.begin(), kCommonTerms.end()}; }

}  // namespace perfleet
