// The plan of `compare`: each command with each value of the parameters, and the commands that run before and after it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct ComparePlan {
    std::vector<std::string> words;       // the commands, with ::: between them
    std::vector<std::string> parameters;  // NAME VALUE…, and an empty text between two of them
    std::string shell;                    // runs each command as its -c; empty: none
    std::vector<std::string> prepare;     // before each run: one for all commands, or one for each
    std::string setup;                    // once before the first run of each command
    std::string cleanup;                  // once after the last one
    std::string input;                    // standard input of each run
};

struct ComparedSide {
    std::string name;  // A, B, …
    std::vector<std::string> words;
    std::string text;                                               // the command as the user wrote it
    std::vector<std::pair<std::string, std::string>> parameters{};  // name and value
    std::string prepare{};
    std::string setup{};
    std::string cleanup{};
    std::string input = "/dev/null";
};

inline constexpr const char* kBetween = ":::";
inline constexpr std::size_t kSidesMax = 500;

// {NAME} in all texts becomes the value. The values of parameters: words, lists with commas, ranges 1..8. Errors:
// kUsage.
[[nodiscard]] Result<std::vector<ComparedSide>> plan_sides(const ComparePlan& plan);

}  // namespace perfleet
