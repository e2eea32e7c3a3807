// The TRACING_DATA section of a perf.data file: formats of its tracepoints, with which readers decode raw data.
#pragma once

#include <span>
#include <string>

#include "exporters/rows/event_table.h"
#include "schemas/session/session_record.h"

namespace perfleet {

// Formats of the events that have raw data, by system and name; page layout as the host gave it.
[[nodiscard]] std::string tracing_data(const HostRecord& host, std::span<const ExportedEvent> events);

}  // namespace perfleet
