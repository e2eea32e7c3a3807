#include "target-collector/source/linux/event/event_parser.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "schemas/text/numbered_name.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/source/linux/event/event_error.h"
#include "target-collector/source/linux/event/event_modifier.h"
#include "target-collector/source/linux/event/single_event.h"

namespace perfleet {
namespace {

constexpr std::string_view kBlanks = " \t\n";

std::string_view without_blanks(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

bool has_letter(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }

EventSpec spec_of(SingleEvent event) {
    apply_modifiers(event.modifiers, event.spec);
    if (event.spec.name.empty()) {
        const bool has_colon = !event.ends_in_slash && !event.modifiers.empty();
        event.spec.name = event.base + (has_colon ? ":" : "") + event.modifiers;
    }
    return std::move(event.spec);
}

// Parses one -e.
class EventListParser {
public:
    // `events` holds the events of earlier lists; this list's are added. All arguments are borrowed.
    EventListParser(std::string_view list, const EventPlaces& places, std::vector<EventSpec>& events)
        : list_{list}, places_{places}, events_{events} {}

    Result<Done> parse() {
        for (;;) {
            const std::size_t begin = at_;
            const std::string_view text = take_item();
            PERFLEET_TRY(next_is('{') ? parse_group(begin, text) : parse_single(text));
            if (at_ == list_.size()) {
                return Done{};
            }
            ++at_;  // the comma
        }
    }

private:
    [[nodiscard]] bool next_is(char c) const { return at_ < list_.size() && list_[at_] == c; }

    [[nodiscard]] Error trouble_at(std::size_t at, const std::string& what) const {
        return event_error(list_, "character " + std::to_string(at + 1) + ": " + what);
    }

    // Takes the text up to a comma or brace outside an event's slashes.
    std::string_view take_item() {
        const std::size_t begin = at_;
        const bool is_breakpoint = without_blanks(list_.substr(at_)).starts_with("mem:");
        bool is_in_slashes = false;
        bool is_quoted = false;
        for (; at_ < list_.size(); ++at_) {
            const char c = list_[at_];
            if (c == '/' && !is_quoted && !is_breakpoint) {
                is_in_slashes = !is_in_slashes;
            } else if (c == '\'' && is_in_slashes) {
                is_quoted = !is_quoted;
            } else if (!is_in_slashes && (c == ',' || c == '{' || c == '}')) {
                break;
            }
        }
        return without_blanks(list_.substr(begin, at_ - begin));
    }

    Result<Done> parse_single(std::string_view text) {
        if (next_is('}')) {
            return trouble_at(at_, "there is no '{' to this '}'");
        }
        auto events = PERFLEET_TRY(parse_single_event(text, places_));
        for (SingleEvent& event : events) {
            if (has_letter(event.modifiers, 'S')) {
                return event_error(text,
                                   "'S' is a group's, whose first event is sampled with the counts of all: "
                                   "{cycles,instructions}:S");
            }
            PERFLEET_TRY(add(std::move(event), 0));
        }
        return Done{};
    }

    // `name` is the group's name, which isn't shown anywhere.
    Result<Done> parse_group(std::size_t begin, std::string_view name) {
        const std::size_t open = at_;
        if (name.find_first_of(":/") != std::string_view::npos) {
            return trouble_at(begin, "a comma is missing before the group");
        }
        std::vector<SingleEvent> members;
        do {
            ++at_;  // '{' or a comma
            const std::string_view text = take_item();
            if (at_ == list_.size()) {
                return trouble_at(open, "the '}' to this '{' is missing");
            }
            if (next_is('{')) {
                return trouble_at(at_, "a group within a group; close the one before");
            }
            if (text.empty() && members.empty() && next_is('}')) {
                return trouble_at(open, "a group without events");
            }
            auto events = PERFLEET_TRY(parse_single_event(text, places_));
            for (SingleEvent& event : events) {
                members.push_back(std::move(event));
            }
            if (members.size() > kGroupEventsMax) {
                return trouble_at(open, "at most " + std::to_string(kGroupEventsMax) + " events in a group");
            }
        } while (!next_is('}'));
        ++at_;
        const std::size_t behind = at_;
        const std::string_view modifiers = take_item();
        if (at_ < list_.size() && !next_is(',')) {
            return trouble_at(at_, "a comma is missing");
        }
        if (!modifiers.empty() && !modifiers.starts_with(':')) {
            return trouble_at(behind, "after a group comes a comma, or a colon and modifiers");
        }
        if (const std::string trouble = modifiers.empty() ? "" : modifier_trouble(modifiers.substr(1));
            !trouble.empty()) {
            return trouble_at(behind, trouble);
        }
        return add_group(std::move(members), modifiers.empty() ? modifiers : modifiers.substr(1));
    }

    Result<Done> add_group(std::vector<SingleEvent> members, std::string_view modifiers) {
        // As in perf, a single event isn't a group.
        const auto number = static_cast<std::uint16_t>(members.size() > 1 ? group_count() + 1 : 0);
        for (std::size_t i = 0; i < members.size(); ++i) {
            SingleEvent& member = members[i];
            if (has_letter(member.modifiers, 'S') || (has_letter(modifiers, 'S') && number == 0)) {
                return event_error(member.base, "'S' goes after the brace of a group of two events or more");
            }
            if (i > 0 && has_letter(modifiers, 'S') && member.spec.is_tracepoint()) {
                return event_error(member.base,
                                   "in a group with 'S' only the first event has samples with fields; put "
                                   "the tracepoint first, or leave 'S' out");
            }
            if (i > 0 && (has_letter(member.modifiers, 'D') || has_letter(member.modifiers, 'e'))) {
                return event_error(member.base, "only a group's first event can be pinned (D) or exclusive (e)");
            }
            if (i > 0 && !member.spec.is_inherited) {
                return event_error(member.base,
                                   "only whole groups are inherited or not: write no-inherit to the first "
                                   "event alone");
            }
            member.modifiers = merge_modifiers(member.modifiers, modifiers);
            if (const std::string trouble =
                    member.modifiers.empty() ? std::string{} : modifier_trouble(member.modifiers);
                !trouble.empty()) {
                return event_error(member.base, "with the modifiers of its group: " + trouble);
            }
            member.spec.is_inherited = members.front().spec.is_inherited;
            member.spec.is_group_weak = number != 0 && has_letter(modifiers, 'W');
            if (has_letter(modifiers, 'S')) {
                member.spec.samples_group = i == 0;
                member.spec.is_sampled_by_leader = i > 0;
                member.spec.is_inherited = false;  // inherited counts can't be separated from those of children
            }
            PERFLEET_TRY(add(std::move(member), number));
            if (i == 0) {
                events_.back().is_pinned = events_.back().is_pinned || has_letter(modifiers, 'D');
                events_.back().is_exclusive = events_.back().is_exclusive || has_letter(modifiers, 'e');
            }
        }
        return Done{};
    }

    Result<Done> add(SingleEvent event, std::uint16_t group) {
        const bool may_repeat = event.is_one_of_many;
        EventSpec spec = spec_of(std::move(event));
        spec.group = group;
        if (spec.is_probe && group != 0) {
            return event_error(spec.name, "programs write it, and no counter: it can't be in a group");
        }
        const bool is_twice = std::any_of(events_.begin(), events_.end(),
                                          [&](const EventSpec& other) { return other.name == spec.name; });
        if (is_twice && may_repeat && group == 0) {
            return Done{};
        }
        if (is_twice) {
            return event_error(spec.name, spec.is_tracepoint()
                                              ? "it is named twice; leave one out"
                                              : "it is named twice; give one another name, as " + renamed(spec.name));
        }
        if (events_.size() == limits::kEventsMax) {
            return Error{ErrorCode::kUsage, "-e: at most " + std::to_string(limits::kEventsMax) + " events at once"};
        }
        events_.push_back(std::move(spec));
        return Done{};
    }

    static std::string renamed(const std::string& name) {
        return name.substr(0, name.find_first_of(":/")) + "/name=second/";
    }

    // Counts the groups of this list and earlier ones.
    [[nodiscard]] std::uint32_t group_count() const {
        std::uint32_t count = 0;
        for (const EventSpec& event : events_) {
            count = std::max<std::uint32_t>(count, event.group);
        }
        return count;
    }

    std::string_view list_;
    const EventPlaces& places_;
    std::vector<EventSpec>& events_;
    std::size_t at_ = 0;
};

// The filter applies to the events from `first` on: those of its -e.
Result<Done> set_filter(const std::string& filter, std::vector<EventSpec>& events, std::size_t first) {
    for (std::size_t i = first; i < events.size(); ++i) {
        if (!events[i].is_tracepoint()) {
            return Error{ErrorCode::kUsage, "--filter " + filter + ": " + events[i].name +
                                                " is no tracepoint, and only these have fields to filter by; give "
                                                "tracepoints an -e of their own before it"};
        }
        events[i].filter = filter;
    }
    return Done{};
}

}  // namespace

Result<std::vector<EventSpec>> parse_events(const std::vector<std::string>& lists, const EventPlaces& places,
                                            const std::vector<std::string>& filters) {
    std::vector<EventSpec> events;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const std::size_t first = events.size();
        PERFLEET_TRY(EventListParser{lists[i], places, events}.parse());
        if (i < filters.size() && !filters[i].empty()) {
            PERFLEET_TRY(set_filter(filters[i], events, first));
        }
    }
    for (std::size_t i = 1; i < events.size(); ++i) {
        std::string name = std::exchange(events[i].name, {});
        events[i].name = numbered(std::move(name), std::span{events}.first(i),
                                  [](const EventSpec& event) -> const std::string& { return event.name; });
    }
    return events;
}

}  // namespace perfleet
