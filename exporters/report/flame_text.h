// Draws a call tree as text: a line for each depth, callers above, each frame as wide as its share.
//
// Bytes depend on the answer and the screen alone.
#pragma once

#include <string>

#include "exporters/report/screen.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// `tree`: the answer of `tree`, not inverted. Frames narrower than a column are omitted. Without colours a frame begins
// with a bar. The screen must have a limited width. Empty for an answer without rows.
[[nodiscard]] std::string flame_text(const Answer& tree, const Screen& screen);

}  // namespace perfleet
