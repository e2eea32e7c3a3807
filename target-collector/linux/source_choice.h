// What a collector samples: the options of its source, made of those that were given.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "target-collector/linux/collector.h"
#include "target-collector/linux/symbols/confined_reader.h"
#include "target-collector/source/linux/perf_source.h"

namespace perfleet {

struct SourceChoice {
    PerfSourceOptions options;
    std::vector<std::string> environment;             // of the command
    std::shared_ptr<ConfinedReader> confined_reader;  // of the options' image_reader; null: files are read here
};

// Whether programs that run already are recorded, beside or in the place of a command.
[[nodiscard]] bool records_running_programs(const CollectorOptions& options);

// All but how call chains are found, and what concerns the command's process. Errors: kUsage (events), those of
// --unwind-cache and of the memory for probes.
[[nodiscard]] Result<SourceChoice> choose_source(const CollectorOptions& options, SessionId session);

// How call chains are found, samples' and those off the CPU; `report` is told why, where it isn't the best way. Errors:
// kUsage, kUnsupported.
[[nodiscard]] Result<Done> choose_chains(const CollectorOptions& options, PerfSourceOptions& source,
                                         const std::function<void(std::string_view)>& report);

}  // namespace perfleet
