// Hardware breakpoints: mem:ADDRESS[/LENGTH][:ACCESS][:MODIFIERS], ACCESS being any of r, w, rw, x. Without it both
// reads and writes are meant, without a length 4 bytes, or of code what the kernel asks for.
#pragma once

#include <string_view>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/single_event.h"

namespace perfleet {

[[nodiscard]] bool is_breakpoint_spelling(std::string_view text);

// Errors: kUsage.
[[nodiscard]] Result<SingleEvent> parse_breakpoint(std::string_view text);

}  // namespace perfleet
