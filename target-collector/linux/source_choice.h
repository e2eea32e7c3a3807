// Derives the options of the source from the collector's.
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
#include "target-collector/linux/symbols/file_cache.h"
#include "target-collector/source/linux/perf_source.h"

namespace perfleet {

struct SourceChoice {
    PerfSourceOptions options;
    std::vector<std::string> environment;             // of the command
    std::shared_ptr<ConfinedReader> confined_reader;  // of the options' image_reader; null: none
    std::shared_ptr<FileCache> cache;                 // null: none
};

// Whether running programs are recorded, in addition to a command or instead of one.
[[nodiscard]] bool records_running_programs(const CollectorOptions& options);

// Sets everything except call chains and the command's process. Errors: kUsage (events), those of --cache and of
// the memory for probes.
[[nodiscard]] Result<SourceChoice> choose_source(const CollectorOptions& options, SessionId session);

// Chooses how call chains of samples and of off-CPU time are unwound; `report` gets the reason if it isn't the best
// method. Errors: kUsage, kUnsupported.
[[nodiscard]] Result<Done> choose_chains(const CollectorOptions& options, PerfSourceOptions& source,
                                         const std::function<void(std::string_view)>& report);

}  // namespace perfleet
