// Manual pages in man(7), made of the description of a program's options and of prose.
#pragma once

#include <string>

#include "daemon/command-line/description.h"

namespace perfleet {

struct ManualContext {
    std::string section;  // "1" or "8"
    std::string version;  // "perfleet 0.1.0-dev"
    std::string date;     // of the version: 2026-01-31
    // More sections in man(7), each from a `.SH TITLE` line on: those titled DESCRIPTION and EXAMPLES continue these,
    // SEE ALSO replaces the one that is made, the others stand before it.
    std::string prose;
};

// The page of one command (`command.path` has two words) or of a program, which lists its commands.
[[nodiscard]] std::string manual_page(const DescribedCommand& command, const ManualContext& context);

// Plain text (UTF-8) as man(7) takes it: nothing in it is a request or an escape, and all of it is ASCII.
[[nodiscard]] std::string manual_text(const std::string& text);

}  // namespace perfleet
