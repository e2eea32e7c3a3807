// `perfleet record`: collector and gateway in one process, no server needed. The same code path as over a network: the
// gateway serves on a thread, the collector reaches it over inproc://, the store stands in a folder.
#pragma once

#include <optional>
#include <string>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "target-collector/linux/collector.h"

namespace perfleet {

struct Recording {
    CollectorSummary summary;
    std::optional<Error> not_stored;  // why some of it could not be: rows that are gone count as lost in the summary
};

// Collects as `options` say (its gateways are set here) into the store in `data_folder`, which is made when missing;
// returns when everything is durable, or the patience is over. SIGINT, SIGTERM and SIGHUP end the collection in order;
// a second one stops waiting, but for SIGHUP. Errors, before anything was collected: those of the store, the gateway
// and the collector.
[[nodiscard]] Result<Recording> record(CollectorOptions options, const std::string& data_folder, const Telling& notice);

}  // namespace perfleet
