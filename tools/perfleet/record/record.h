// `perfleet record`: no server needed. The collector sends to whoever writes to the store in the folder (LocalGateway),
// mostly a thread of its own process; the same code path as over a network.
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
    std::optional<Error> not_stored;  // why some of it could not be: rows that are gone count as lost in the summary
    std::string unstored_file;        // holds what nobody stored in time, for the next recording; empty: none
};

// Collects as `options` say (its gateways are set here) into the store in `data_folder`, which is made when missing;
// returns when everything is durable, or the timeout is over. Any number of these, and a gateway, may write to one
// folder. SIGINT, SIGTERM and SIGHUP end the collection in order;
// a second one stops waiting, but for SIGHUP. Errors, before anything was collected: those of the store, the gateway
// and the collector. `live_line` shows how it goes; null: nothing does.
[[nodiscard]] Result<Recording> record(CollectorOptions options, const std::string& data_folder, const LogSink& log,
                                       LiveLine* live_line);

}  // namespace perfleet
