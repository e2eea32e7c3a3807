// For tests of formats: names that targets may have and files must keep apart from their own syntax: blanks, quotes,
// the end of a script, letters outside ASCII, 300 characters; of files that were deleted while they ran.
#pragma once

#include <string>

#include "query-engine/statistic/testing/profile_scenario.h"

namespace perfleet {

inline void give_odd_names(ProfileScenario& scenario) {
    const std::string odd = "it's \"<b>\" </script> ünï\\cødé; \t";
    for (std::size_t i = 0; i < scenario.images.size(); ++i) {
        ImageDefinition& image = scenario.images[i];
        if (image.name.starts_with('/')) {
            image.name = "/opt/" + odd + std::to_string(i) + (i % 2 == 0 ? std::string(300, 'x') : " (deleted)");
        }
    }
    for (ScenarioSession& session : scenario.sessions) {
        for (ScenarioEpoch& epoch : session.epochs) {
            for (ScenarioTask& task : epoch.tasks) {
                task.name = task.name == "worker" ? odd : task.name;
            }
        }
    }
}

}  // namespace perfleet
