// Events of probes (probe/perfleet/probe.h), as a session describes them.
//
// Plain functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "target-collector/linux/collector.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/image/image_reader.h"

namespace perfleet {

// With what a pair costs here and now.
void describe_probes(std::vector<EventSpec>& probes);

// Probes of the command's program, and of others that its words name: those that a shell, env or taskset starts.
[[nodiscard]] std::vector<ProbeName> names_in_command(const std::vector<std::string>& command, ImageReader& reader);

// Under the number that no name is given to.
[[nodiscard]] EventSpec benchmark_event(const CollectorOptions::Benchmark& benchmark);

}  // namespace perfleet
