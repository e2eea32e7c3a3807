// `labels` and `events`: the labels and events by which sessions of the selection can be chosen.
//
// With a time range: the sessions that overlap it. Plain functions.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// One row for each label and value, ascending: how many sessions have it. Also `target` and `arch`.
[[nodiscard]] Answer make_labels(const Scan& scan);

// One row for each event with rows that a profile can show, in the order of sessions' events, so that the default one
// is the first: its unit, and how many sessions recorded it.
[[nodiscard]] Answer make_events(const Scan& scan);

}  // namespace perfleet
