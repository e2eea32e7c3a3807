#include "target-collector/source/linux/event/event_modifier.h"

#include <algorithm>

namespace perfleet {
namespace {

constexpr std::string_view kOrder = "ukhIGHpPSDWeb";
constexpr std::string_view kOfGroups = "SDWe";
constexpr std::ptrdiff_t kPreciseMax = 3;

bool has(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }

std::ptrdiff_t count_of(std::string_view letters, char letter) {
    return std::count(letters.begin(), letters.end(), letter);
}

}  // namespace

bool is_modifier(std::string_view letters) {
    return !letters.empty() && letters.find_first_not_of(kOrder) == std::string_view::npos;
}

std::string modifier_trouble(std::string_view letters) {
    if (has(letters, ':')) {
        return "modifiers go together after one colon, as in cycles:uk";
    }
    if (const std::size_t at = letters.find_first_not_of(kOrder); at != std::string_view::npos || letters.empty()) {
        return (letters.empty() ? std::string("a modifier is missing")
                                : "there is no modifier '" + std::string(1, letters[at]) + "'") +
               "; there are u (user space), k (kernel), h (hypervisor), I (not idle), G (guest), H (host), p to ppp "
               "and "
               "P (precise), D (pinned), e (exclusive), W (weak group), S (group sampled by its first event)";
    }
    for (const char letter : kOrder) {
        const std::ptrdiff_t count = count_of(letters, letter);
        if (letter == 'p' && count > kPreciseMax) {
            return "'ppp' is the most precise";
        }
        if (letter != 'p' && count > 1) {
            return "the modifier '" + std::string(1, letter) + "' occurs twice";
        }
    }
    if (has(letters, 'p') && has(letters, 'P')) {
        return "'P' is as many 'p' as the processor has: write one or the other";
    }
    if (has(letters, 'b')) {
        return "'b' shares counters by BPF, which only perf stat does: leave it out";
    }
    return {};
}

void apply_modifiers(std::string_view letters, EventSpec& spec) {
    const bool names_level = has(letters, 'u') || has(letters, 'k') || has(letters, 'h');
    spec.exclude_user = names_level && !has(letters, 'u');
    spec.exclude_kernel = names_level && !has(letters, 'k');
    spec.exclude_hypervisor = names_level && !has(letters, 'h');
    spec.exclude_idle = has(letters, 'I');
    spec.is_precise_at_most = has(letters, 'P');
    spec.precise = static_cast<std::uint8_t>(spec.is_precise_at_most ? kPreciseMax
                                                                     : std::min(count_of(letters, 'p'), kPreciseMax));
    const bool names_machine = has(letters, 'G') || has(letters, 'H');
    spec.exclude_host = names_machine && !has(letters, 'H');
    spec.exclude_guest =
        names_machine ? !has(letters, 'G') : spec.is_processor_event || has(letters, 'u') || has(letters, 'p');
    spec.is_pinned = has(letters, 'D');
    spec.is_exclusive = has(letters, 'e');
}

std::string merge_modifiers(std::string_view own, std::string_view group) {
    std::string merged;
    for (const char letter : kOrder) {
        const bool is_of_group = has(kOfGroups, letter);
        const std::ptrdiff_t count = count_of(own, letter) + (is_of_group ? 0 : count_of(group, letter));
        merged.append(static_cast<std::size_t>(letter == 'p' ? count : std::min<std::ptrdiff_t>(count, 1)), letter);
    }
    return merged;
}

}  // namespace perfleet
