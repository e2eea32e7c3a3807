// Shows text page by page, as git does.
#pragma once

#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

// Writes the text to standard output; if that is a terminal, through the pager that PERFLEET_PAGER, else PAGER names
// (default: less -FRX, which shows what fits the screen and ends), and waits for its end. "cat" or an empty text is no
// pager, and so is one that the shell doesn't find. That a reader leaves before the end is no error. Errors: kIo.
[[nodiscard]] Result<Done> print_paged(std::string_view text);

}  // namespace perfleet
