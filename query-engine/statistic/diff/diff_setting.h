// Warns if the two sides of a comparison were measured under different or unknown conditions.
//
// Plain functions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"

namespace perfleet {

// The compared sessions of one side, by their index in its scan.
struct DiffSide {
    const Scan* scan = nullptr;
    std::set<std::size_t> sessions;

    [[nodiscard]] const ScannedSession& session(std::size_t index) const { return scan->sessions()[index]; }
};

struct SettingWarnings {
    std::set<std::string> chosen_labels;  // expected to differ
    bool wants_checklist = true;          // a warning about labels of the checklist that not all runs have
    bool names_checklist = false;         // … that names each item
};

// Adds a warning for each difference of frequency, governor and the rest of the checklist; one for all other labels,
// target, architecture, kernel and processor; one for failed runs; one for rows that are on both sides.
void warn_of_settings(const DiffSide& before, const DiffSide& after, const SettingWarnings& settings,
                      std::vector<std::string>& warnings);

// Warns if the event was sampled differently on the two sides.
void warn_of_sampling(const DiffSide& before, const DiffSide& after, const std::string& event,
                      std::vector<std::string>& warnings);

// "a, b and 3 more".
[[nodiscard]] std::string listed(const std::set<std::string>& texts, std::size_t count_max);

}  // namespace perfleet
