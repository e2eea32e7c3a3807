// Descriptions of probe events (probe/perfleet/probe.h) for a session.
//
// Plain functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "target-collector/linux/collector.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/image/image_reader.h"

namespace perfleet {

// Adds the overhead of a pair, measured now.
void describe_probes(std::vector<EventSpec>& probes);

// Probes of the command's program, and of programs in its arguments: those that a shell, env or taskset starts.
[[nodiscard]] std::vector<ProbeName> names_in_command(const std::vector<std::string>& command, ImageReader& reader);

// The event of a benchmark; its number is that of no probe name.
[[nodiscard]] EventSpec benchmark_event(const CollectorOptions::Benchmark& benchmark);

}  // namespace perfleet
