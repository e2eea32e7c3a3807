// The gateway's metrics for --metrics. Names, units and what to watch: docs/operations.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gateway/compaction/store_compaction.h"
#include "gateway/counts/gateway_counts.h"
#include "gateway/retention/store_retention.h"
#include "schemas/host/metric.h"
#include "schemas/peers/transport_counts.h"
#include "storage/engine/rocksdb/folder_size.h"

namespace perfleet {

struct GatewayReadings {
    GatewayCounts counts;
    TransportCounts transport;
    std::optional<FolderSize> store;
    std::size_t store_damage_count = 0;
    TransportCounts query_transport;  // of the query process
    std::uint64_t query_restarts = 0;
    std::uint64_t log_suppressed = 0;
    CompactionCounts compacted;
    RetentionCounts retained;
};

// Adds every family from the start, with 0, so that a first increase is visible.
void add_gateway_metrics(const GatewayReadings& readings, MetricPage& page);

}  // namespace perfleet
