// Shell completion of a program's arguments: commands, options, their choices, files and folders.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/command-line/description.h"

namespace perfleet {

enum class Shell { kBash, kZsh, kFish };

// "bash", "zsh" or "fish".
[[nodiscard]] std::optional<Shell> shell_of_name(std::string_view name);

// A script that the shell sources, or finds by name in its completions folder.
[[nodiscard]] std::string completion_script(const DescribedCommand& program, Shell shell);

}  // namespace perfleet
