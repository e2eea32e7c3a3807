// Whether two sides of a comparison were measured in the same way: warnings where they weren't, or where nobody knows.
//
// Plain functions.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/scan/scan.h"

namespace perfleet {

// The sessions of one side that took part, by index of its scan.
struct DiffSide {
    const Scan* scan = nullptr;
    std::set<std::size_t> sessions;

    [[nodiscard]] const ScannedSession& session(std::size_t index) const { return scan->sessions()[index]; }
};

struct SettingWarnings {
    std::set<std::string> chosen_labels;  // that differ on purpose
    bool wants_checklist = true;          // a line about what not all runs say
    bool names_checklist = false;         // … each thing by its name
};

// Frequency, governor and the rest of the checklist, a line each; all other labels, target, architecture, kernel and
// processor in one line; runs that failed; rows that stand on both sides.
void warn_of_settings(const DiffSide& before, const DiffSide& after, const SettingWarnings& settings,
                      std::vector<std::string>& warnings);

// How the event was sampled, where that differs.
void warn_of_sampling(const DiffSide& before, const DiffSide& after, const std::string& event,
                      std::vector<std::string>& warnings);

// "a, b and 3 more".
[[nodiscard]] std::string listed(const std::set<std::string>& texts, std::size_t count_max);

}  // namespace perfleet
