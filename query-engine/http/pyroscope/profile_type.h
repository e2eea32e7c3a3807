// Pyroscope's profile types, `process_cpu:cpu:nanoseconds:cpu:nanoseconds`, of perfleet's events.
//
//   time on the CPU       process_cpu:cpu:nanoseconds:cpu:nanoseconds        of the first clock (others: as below), and
//                         process_cpu:samples:count:cpu:nanoseconds          of imported CPU profiles
//   time off the CPU      off_cpu:off_cpu:nanoseconds:off_cpu:nanoseconds    blocked and runnable
//   heap profiles         memory:inuse_space:bytes:space:bytes, …            as Pyroscope has them
//   other events          NAME:NAME:UNIT:NAME:UNIT and NAME:samples:count:NAME:UNIT, with '_' for ':' in NAME
#pragma once

#include <string>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/statistic/answer/answer.h"
#include "schemas/vocabulary/error.h"

namespace perfleet::pyroscope {

struct ProfileType {
    std::string name;
    std::string sample_type;
    std::string sample_unit;
    std::string period_type;
    std::string period_unit;
    std::vector<OptionValues> selections;  // event or off-cpu, and measure; no session has rows of two of them

    [[nodiscard]] std::string id() const {
        return name + ":" + sample_type + ":" + sample_unit + ":" + period_type + ":" + period_unit;
    }
};

// `events`: the answer of the command of this name. In its order, the default event first.
[[nodiscard]] std::vector<ProfileType> profile_types(const Answer& events);

// Errors: kInvalid (no such form), kNotFound.
[[nodiscard]] Result<ProfileType> find_type(const std::vector<ProfileType>& types, const std::string& id_untrusted);

}  // namespace perfleet::pyroscope
