#include "gateway/metrics/gateway_metrics.h"

#include <string>

namespace perfleet {
namespace {

void show_counts(MetricPage& page, const std::string& prefix, const GatewayCounts& counts) {
    PERFLEET_GATEWAY_COUNTS(PERFLEET_COUNT_METRIC)
    page.counter(prefix + "batches_total", "", counts.batches_refused.total(), {{"outcome", "refused"}});
}

void add_store(MetricPage& page, const GatewayReadings& readings) {
    page.gauge("perfleet_gateway_store_damage", "Damaged records found in the store since the start (bounded).",
               readings.store_damage_count);
    if (readings.store) {
        page.gauge("perfleet_gateway_store_size_bytes", "Size of the store on disk.", readings.store->used_bytes);
        page.gauge("perfleet_gateway_store_free_bytes", "Free space on the store's file system.",
                   readings.store->free_bytes);
    }
    if (!readings.store && readings.retained.store_bytes_now != 0) {
        page.gauge("perfleet_gateway_store_size_bytes",
                   "Size of the store, one copy, of all gateways that share it; measured once a minute.",
                   readings.retained.store_bytes_now);
    }
}

void show_counts(MetricPage& page, const std::string& prefix, const CompactionCounts& counts) {
    PERFLEET_COMPACTION_COUNTS(PERFLEET_COUNT_METRIC)
}

void show_counts(MetricPage& page, const std::string& prefix, const RetentionCounts& retained) {
    for (const ClassRetentionCounts& counts : retained.classes) {
#define PERFLEET_CLASS_METRIC(type, field, metric, help) \
    show_count(page, prefix + (metric), help, static_cast<std::uint64_t>(counts.field), "class", counts.name);
        PERFLEET_RETENTION_COUNTS(PERFLEET_CLASS_METRIC)
    }
    page.counter(prefix + "retention_failures_total", "Times that dropping failed, to be tried again.",
                 retained.failures);
}

}  // namespace

void add_gateway_metrics(const GatewayReadings& readings, MetricPage& page) {
    const std::string prefix = "perfleet_gateway_";
    show_counts(page, prefix, readings.transport);
    show_counts(page, prefix + "query_", readings.query_transport);
    show_counts(page, prefix, readings.counts);
    add_store(page, readings);
    show_counts(page, prefix, readings.compacted);
    show_counts(page, prefix, readings.retained);
    page.counter("perfleet_gateway_query_messages_malformed_total",
                 "Messages of query clients that were malformed, refused, or belonged to no query.",
                 readings.query_transport.messages_malformed);
    page.counter("perfleet_gateway_query_restarts_total", "Times that the query process ended and was started again.",
                 readings.query_restarts);
    page.counter("perfleet_gateway_log_suppressed_total", "Log messages left out because of their number.",
                 readings.log_suppressed);
}

}  // namespace perfleet
