// What a value of a command line's option may be, whatever the option is for. Errors as CLI11 takes them: the fault in
// words, without the option's name; no words: it may be.
//
// Hosts only.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>

namespace perfleet {

// Of a path, an endpoint or a key. An empty one would mean "none": `--key "$KEY"` with a variable that isn't set would
// start a program without keys.
[[nodiscard]] inline std::string check_not_empty(const std::string& text) {
    return text.empty() ? "is empty (a variable that isn't set?); leave it out, or say what it is" : "";
}

// Of a number beside a range: "nan" is neither below nor above any bound. What is no number others say.
[[nodiscard]] inline std::string check_not_nan(const std::string& text) {
    return std::isnan(std::strtod(text.c_str(), nullptr)) ? "'" + text + "' is no number" : "";
}

}  // namespace perfleet
