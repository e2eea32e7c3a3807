// `perfleet record`: collector and gateway in one process, no server needed. The same code path as over a network: the
// gateway serves on a thread, the collector reaches it over inproc://, the store stands in a folder.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/collector.h"

namespace perfleet {

// Collects as `options` say (its gateways are set here) into the store in `data_folder`, which is made when missing;
// returns when everything is durable. SIGINT and SIGTERM end the collection in order; a second one stops waiting.
// Errors: those of the store, the gateway and the collector.
[[nodiscard]] Result<CollectorSummary> record(CollectorOptions options, const std::string& data_folder,
                                              const std::function<void(std::string_view)>& notice);

}  // namespace perfleet
