// Hardware breakpoints: mem:ADDRESS[/LENGTH][:ACCESS][:MODIFIERS], ACCESS is r, w, rw or x. The default is rw and a
// length of 4 bytes, or for x the length that the kernel requires.
#pragma once

#include <string_view>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/single_event.h"

namespace perfleet {

[[nodiscard]] bool is_breakpoint_spelling(std::string_view text);

// Errors: kUsage.
[[nodiscard]] Result<SingleEvent> parse_breakpoint(std::string_view text);

}  // namespace perfleet
