// Makes manual pages in man(7) from the description of a program's options and from prose.
#pragma once

#include <string>

#include "daemon/command-line/description.h"

namespace perfleet {

struct ManualContext {
    std::string section;  // "1" or "8"
    std::string version;  // "perfleet 0.1.0-dev"
    std::string date;     // of the version: 2026-01-31
    // Further sections in man(7), each beginning with a `.SH TITLE` line. DESCRIPTION and EXAMPLES are appended to the
    // generated ones, SEE ALSO replaces the generated one, and others come before it.
    std::string prose;
};

// The page of one command (`command.path` has two words), or of a program with a list of its commands.
[[nodiscard]] std::string manual_page(const DescribedCommand& command, const ManualContext& context);

// Escapes plain text (UTF-8) for man(7): nothing in it is a request or an escape, and all of it is ASCII.
[[nodiscard]] std::string manual_text(const std::string& text);

}  // namespace perfleet
