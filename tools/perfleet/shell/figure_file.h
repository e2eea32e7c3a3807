// Files of figures, whose names say their format.
#pragma once

#include <optional>
#include <string>

#include "daemon/option/option.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// "html", "svg" or "png" as the name ends; nothing for other names.
[[nodiscard]] std::optional<std::string> figure_format_of(const std::string& file);

// Sets the option "as" where it isn't given. Errors: kUsage, where the name doesn't say a format either.
[[nodiscard]] Result<Done> choose_figure_format(const std::string& file, OptionValues& values);

}  // namespace perfleet
