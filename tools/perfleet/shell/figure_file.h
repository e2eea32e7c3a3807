// Files of figures; the name's suffix chooses the format.
#pragma once

#include <optional>
#include <string>

#include "daemon/option/option.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// "html", "svg" or "png" by the name's suffix; nothing for other names.
[[nodiscard]] std::optional<std::string> figure_format_of(const std::string& file);

// Sets the option "as" unless it is given. Errors: kUsage if the name has no known suffix either.
[[nodiscard]] Result<Done> choose_figure_format(const std::string& file, OptionValues& values);

}  // namespace perfleet
