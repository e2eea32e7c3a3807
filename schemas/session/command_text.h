// The command that a session recorded, from its collector's command line.
#pragma once

#include <algorithm>
#include <string>

#include "schemas/session/session_record.h"

namespace perfleet {

// The words after `--`, else all words; "" if none are known.
[[nodiscard]] inline std::string command_text(const HostRecord& host) {
    const std::vector<std::string>& words = host.command_line;
    auto word = std::find(words.begin(), words.end(), "--");
    word = word == words.end() || word + 1 == words.end() ? words.begin() : word + 1;
    std::string text;
    for (; word != words.end(); ++word) {
        text += (text.empty() ? "" : " ") + *word;
    }
    return text;
}

}  // namespace perfleet
