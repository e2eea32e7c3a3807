// `perfleet record`: needs no server. The collector sends to the process that writes to the folder's store
// (LocalGateway), usually a thread of its own process, by the same code as over a network.
#pragma once

#include <optional>
#include <string>

#include "daemon/terminal/live_line.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "target-collector/linux/collector.h"

namespace perfleet {

struct Recording {
    CollectorSummary summary;
    int signal = 0;                   // that ended the collection; 0: none
    std::optional<Error> not_stored;  // why rows could not be stored; lost rows count as lost in the summary
    std::string unstored_file;        // holds rows that weren't stored in time, for the next recording; empty: none
};

// Collects with `options` (their gateways are set here) into the store in `data_folder`, which is created if missing.
// Returns when everything is durable, or the timeout is over. Any number of recorders and a gateway may write to one
// folder. SIGINT, SIGTERM, SIGQUIT and SIGHUP end the collection in order; a second SIGINT or SIGTERM stops waiting.
// Errors, before anything was collected: those of the store, the gateway and the collector. `live_line` shows the
// progress; may be null.
[[nodiscard]] Result<Recording> record(CollectorOptions options, const std::string& data_folder, const LogSink& log,
                                       LiveLine* live_line);

}  // namespace perfleet
