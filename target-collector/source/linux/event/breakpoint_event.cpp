#include "target-collector/source/linux/event/breakpoint_event.h"

#include <linux/hw_breakpoint.h>

#include <algorithm>
#include <optional>
#include <string>

#include "target-collector/source/linux/event/event_error.h"
#include "target-collector/source/linux/event/event_modifier.h"
#include "target-collector/source/linux/event/event_term.h"

namespace perfleet {
namespace {

constexpr std::string_view kPrefix = "mem:";
constexpr std::string_view kAccessWords = "after the address comes r (read), w (written), rw or x (executed)";

// Takes the text up to one of `ends`, which stays in `rest`.
std::string_view take_until(std::string_view& rest, std::string_view ends) {
    const std::string_view part = rest.substr(0, rest.find_first_of(ends));
    rest.remove_prefix(part.size());
    return part;
}

// Empty: not a type of access.
std::optional<std::uint32_t> access_of(std::string_view text) {
    std::uint32_t access = HW_BREAKPOINT_EMPTY;
    for (const char c : text) {
        const std::uint32_t bit = c == 'r'   ? HW_BREAKPOINT_R
                                  : c == 'w' ? HW_BREAKPOINT_W
                                  : c == 'x' ? HW_BREAKPOINT_X
                                             : HW_BREAKPOINT_EMPTY;
        if (bit == HW_BREAKPOINT_EMPTY || (access & bit) != 0) {
            return std::nullopt;
        }
        access |= bit;
    }
    return access == HW_BREAKPOINT_EMPTY ? std::nullopt : std::optional{access};
}

}  // namespace

bool is_breakpoint_spelling(std::string_view text) { return text.starts_with(kPrefix); }

Result<SingleEvent> parse_breakpoint(std::string_view text) {
    std::string_view rest = text.substr(kPrefix.size());
    const auto address = parse_number(take_until(rest, "/:"));
    if (!address) {
        return event_error(text,
                           "after 'mem:' comes an address, such as 0x601040; 'nm PROGRAM' lists those of its variables "
                           "and functions");
    }
    std::optional<std::uint64_t> length;
    if (rest.starts_with('/')) {
        rest.remove_prefix(1);
        length = parse_number(take_until(rest, ":"));
        if (length != 1U && length != 2U && length != 4U && length != 8U) {
            return event_error(text, "a breakpoint's length is 1, 2, 4 or 8 bytes");
        }
    }
    std::uint32_t access = HW_BREAKPOINT_RW;
    if (rest.size() > 1 && std::string_view("rwx").find(rest[1]) != std::string_view::npos) {
        rest.remove_prefix(1);
        const auto given = access_of(take_until(rest, ":"));
        if (!given) {
            return event_error(text, std::string(kAccessWords));
        }
        access = *given;
    }
    if (access != HW_BREAKPOINT_X && (access & HW_BREAKPOINT_X) != 0) {
        return event_error(text,
                           "no processor breaks on execution and on access at once: write two events, :x and :rw");
    }
    SingleEvent event;
    event.base = text.substr(0, text.size() - rest.size());
    if (rest.starts_with(':')) {
        event.modifiers = rest.substr(1);
        if (const std::string trouble = modifier_trouble(event.modifiers); !trouble.empty()) {
            return event_error(text, std::string(kAccessWords) + ", then modifiers: " + trouble);
        }
    }
    event.spec.type = perf::kTypeBreakpoint;
    event.spec.breakpoint_type = access;
    event.spec.config1 = *address;
    event.spec.config2 = length.value_or(access == HW_BREAKPOINT_X ? sizeof(long) : 4);
    event.spec.unit = "events";
    return event;
}

}  // namespace perfleet
