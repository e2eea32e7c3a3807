#include "target-collector/metrics/collector_metrics.h"

#include <string>

namespace perfleet {
namespace {

void add_rows(const CollectorCounts& counts, MetricPage& page) {
    for (const bool definitions : {false, true}) {
        for (std::size_t i = kKindFirst; i <= kKindLast; ++i) {
            const auto kind = static_cast<Kind>(i);
            if (is_definition(kind) == definitions) {
                page.counter(definitions ? "perfleet_collector_definitions_produced_total"
                                         : "perfleet_collector_rows_produced_total",
                             definitions ? "Definitions of stacks, images and strings produced, including "
                                           "lost ones."
                                         : "Rows produced, including lost ones.",
                             counts.rows_produced[i], {{"kind", std::string{kind_name(kind)}}});
            }
        }
    }
    const std::string_view unknown = count_name(CountName{});
    std::uint64_t other = counts.rows_lost.back();
    const auto add_lost = [&](std::string_view reason, std::uint64_t count) {
        page.counter("perfleet_collector_rows_lost_total", "Rows lost, excluding definitions.", count,
                     {{"reason", std::string{reason}}});
    };
    for (std::size_t i = kCountLostFirst; i + 1 < counts.rows_lost.size(); ++i) {
        const std::string_view reason = count_name(static_cast<CountName>(i));
        if (reason == unknown) {
            other += counts.rows_lost[i];
        } else {
            add_lost(reason, counts.rows_lost[i]);
        }
    }
    add_lost(unknown, other);
    page.counter("perfleet_collector_definitions_lost_total", "Definitions lost; each loss closed an epoch.",
                 counts.definitions_lost);
}

void add_delivery(const CollectorCounts& counts, MetricPage& page) {
    page.gauge("perfleet_collector_connected", "1 while a gateway answers.", counts.is_connected ? 1.0 : 0.0);
    page.gauge("perfleet_collector_session_refused", "1 if the gateway refused this session for good.",
               counts.is_session_refused ? 1.0 : 0.0);
    page.counter("perfleet_collector_gateway_changes_total", "Gateway incarnations seen after the first.",
                 counts.gateway_changes);
    page.counter("perfleet_collector_batches_sealed_total", "Batches closed and numbered.", counts.batches_sealed);
    page.counter("perfleet_collector_batches_acknowledged_total", "Batches that the gateway has on disk.",
                 counts.batches_acknowledged);
    page.counter("perfleet_collector_batches_resent_total", "Batches sent again.", counts.batches_resent);
    page.counter("perfleet_collector_batches_dropped_total", "Batches dropped from the spool at its bound.",
                 counts.batches_dropped);
    page.counter("perfleet_collector_batches_refused_total", "Batches that the gateway can never store.",
                 counts.batches_refused);
    page.counter("perfleet_collector_replies_ignored_total", "Malformed or impossible messages from the gateway.",
                 counts.replies_ignored);
    page.histogram("perfleet_collector_acknowledgement_seconds",
                   "From a batch's (last) sending to its acknowledgement.", counts.acknowledged_after);
    page.gauge("perfleet_collector_spool_limit_bytes", "Capacity of the spool.", counts.spool_size_bytes);
    page.gauge("perfleet_collector_spool_used_bytes", "Bytes used of that capacity.", counts.spool_used_bytes);
    page.gauge("perfleet_collector_ring_limit_bytes", "Capacity of the ring between source and network thread.",
               counts.ring_size_bytes);
    page.gauge("perfleet_collector_ring_used_bytes", "Bytes used of that capacity.", counts.ring_used_bytes);
}

void add_spool(const CollectorCounts& counts, MetricPage& page) {
    page.gauge("perfleet_collector_recovered_sessions",
               "Sessions of earlier runs recovered from the spool folder, not delivered yet.",
               counts.orphans.sessions_waiting);
    page.gauge("perfleet_collector_recovered_batches", "Undelivered batches of recovered sessions.",
               counts.orphans.batches_waiting);
    page.gauge("perfleet_collector_recovered_bytes", "Bytes of undelivered batches of recovered sessions.",
               counts.orphans.bytes_waiting);
    page.counter("perfleet_collector_recovered_sessions_delivered_total", "Recovered sessions delivered completely.",
                 counts.orphans.sessions_delivered);
    page.counter("perfleet_collector_recovered_batches_delivered_total", "Batches of recovered sessions delivered.",
                 counts.orphans.batches_delivered);
    page.counter("perfleet_collector_spool_syncs_total", "Spool syncs by --spool-sync.", counts.spool_syncs.done);
    page.counter("perfleet_collector_spool_syncs_failed_total", "Spool syncs that failed.", counts.spool_syncs.failed);
}

}  // namespace

void add_collector_metrics(const CollectorCounts& counts, std::uint64_t log_suppressed, MetricPage& page) {
    add_rows(counts, page);
    add_delivery(counts, page);
    add_spool(counts, page);
    page.gauge("perfleet_collector_frequency_lowered_ratio",
               "The part of the sampling frequency that --cpu-budget leaves out; 0: none.", 1 - counts.frequency_scale);
    page.counter("perfleet_collector_budget_changes_total", "Changes of the sampling frequency by --cpu-budget.",
                 counts.budget_changes);
    page.counter("perfleet_collector_log_suppressed_total", "Log messages left out because of their number.",
                 log_suppressed);
}

}  // namespace perfleet
