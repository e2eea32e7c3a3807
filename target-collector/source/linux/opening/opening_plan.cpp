#include "target-collector/source/linux/opening/opening_plan.h"

namespace perfleet {
namespace {

OpeningRole role_of(std::span<const OpenEvent> events, std::size_t index) {
    const std::uint16_t group = events[index].spec.group;
    if (group == 0) {
        return OpeningRole::kAlone;
    }
    return index > 0 && events[index - 1].spec.group == group ? OpeningRole::kMember : OpeningRole::kLeader;
}

bool ends_group(std::span<const OpenEvent> events, std::size_t index) {
    return events[index].spec.group != 0 &&
           (index + 1 == events.size() || events[index + 1].spec.group != events[index].spec.group);
}

}  // namespace

std::vector<Opening> plan_openings(std::span<const OpenEvent> events, const AttrOptions& options,
                                   const PerfFeatures& features) {
    std::vector<Opening> plan;
    AttrOptions at_once = options;
    at_once.enable_on_exec = false;
    plan.push_back({side_band_attr(at_once, features), OpeningRole::kSideBand, kSideBandIndex});
    for (std::uint32_t i = 0; i < events.size(); ++i) {
        if (!events[i].spec.is_opened()) {
            continue;
        }
        Opening opening{sampling_attr(events[i].spec, events[i].rate, options, features), role_of(events, i), i};
        if (opening.role == OpeningRole::kMember) {
            opening.attr.disabled = 0;
            opening.attr.enable_on_exec = 0;
        }
        plan.push_back(opening);
        if (ends_group(events, i) && (!options.inherit || features.inherited_group_reads)) {
            AttrOptions of_group = at_once;
            of_group.inherit = options.inherit && events[i].spec.is_inherited;
            plan.push_back({group_reader_attr(of_group, features), OpeningRole::kReader, leader_of(events, i)});
        }
    }
    return plan;
}

std::uint32_t leader_of(std::span<const OpenEvent> events, std::uint32_t event_index) {
    while (role_of(events, event_index) == OpeningRole::kMember) {
        --event_index;
    }
    return event_index;
}

std::size_t opening_count(std::span<const OpenEvent> events) {
    std::size_t count = 1 + events.size();
    for (std::size_t i = 0; i < events.size(); ++i) {
        count += ends_group(events, i) ? 1 : 0;
    }
    return count;
}

}  // namespace perfleet
