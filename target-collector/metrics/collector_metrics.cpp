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
                             definitions ? "Definitions of stacks, images and strings taken from the source, lost ones "
                                           "too."
                                         : "Rows taken from the source, lost ones too.",
                             counts.rows_produced[i], {{"kind", std::string{kind_name(kind)}}});
            }
        }
    }
    const std::string_view unknown = tally_name(TallyName{});
    std::uint64_t other = counts.rows_lost.back();
    const auto add_lost = [&](std::string_view reason, std::uint64_t count) {
        page.counter("perfleet_collector_rows_lost_total", "Rows lost, definitions not counted.", count,
                     {{"reason", std::string{reason}}});
    };
    for (std::size_t i = kTallyLostFirst; i + 1 < counts.rows_lost.size(); ++i) {
        const std::string_view reason = tally_name(static_cast<TallyName>(i));
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
    page.gauge("perfleet_collector_session_refused", "1 when the gateway will never take this session.",
               counts.is_session_refused ? 1.0 : 0.0);
    page.counter("perfleet_collector_gateway_changes_total", "Times that another run of a gateway answered.",
                 counts.gateway_changes);
    page.counter("perfleet_collector_batches_sealed_total", "Batches closed and numbered.", counts.batches_sealed);
    page.counter("perfleet_collector_batches_acknowledged_total", "Batches that the gateway has on disk.",
                 counts.batches_acknowledged);
    page.counter("perfleet_collector_batches_resent_total", "Batches sent again.", counts.batches_resent);
    page.counter("perfleet_collector_batches_dropped_total", "Batches dropped from the spool at its bound.",
                 counts.batches_dropped);
    page.counter("perfleet_collector_batches_refused_total", "Batches that the gateway can never store.",
                 counts.batches_refused);
    page.counter("perfleet_collector_replies_ignored_total",
                 "Messages of the gateway that were malformed or promised what can't be.", counts.replies_ignored);
    page.histogram("perfleet_collector_acknowledgement_seconds",
                   "From a batch's (last) sending to its acknowledgement.", counts.acknowledged_after);
    page.gauge("perfleet_collector_spool_limit_bytes", "Room for batches that aren't acknowledged.",
               counts.spool_size_bytes);
    page.gauge("perfleet_collector_spool_used_bytes", "Of that room, used.", counts.spool_used_bytes);
    page.gauge("perfleet_collector_ring_limit_bytes", "Room between the source's thread and the wire's.",
               counts.ring_size_bytes);
    page.gauge("perfleet_collector_ring_used_bytes", "Of that room, used.", counts.ring_used_bytes);
}

void add_spool(const CollectorCounts& counts, MetricPage& page) {
    page.gauge("perfleet_collector_left_sessions",
               "Sessions that earlier runs left in the spool folder, not delivered.", counts.left.sessions_waiting);
    page.gauge("perfleet_collector_left_batches", "Batches of these sessions that wait.", counts.left.batches_waiting);
    page.gauge("perfleet_collector_left_bytes", "What these batches take.", counts.left.bytes_waiting);
    page.counter("perfleet_collector_left_sessions_delivered_total",
                 "Sessions of earlier runs that this run delivered to their end.", counts.left.sessions_delivered);
    page.counter("perfleet_collector_left_batches_delivered_total",
                 "Batches of earlier runs that the gateway took from this one.", counts.left.batches_delivered);
    page.counter("perfleet_collector_spool_syncs_total", "Times that --spool-sync brought the spool to the disk.",
                 counts.spool_syncs.done);
    page.counter("perfleet_collector_spool_syncs_failed_total", "Times that it could not.", counts.spool_syncs.failed);
}

}  // namespace

void add_collector_metrics(const CollectorCounts& counts, std::uint64_t log_suppressed, MetricPage& page) {
    add_rows(counts, page);
    add_delivery(counts, page);
    add_spool(counts, page);
    page.counter("perfleet_collector_log_suppressed_total", "Log messages left out because of their number.",
                 log_suppressed);
}

}  // namespace perfleet
