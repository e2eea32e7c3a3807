#include "gateway/metrics/gateway_metrics.h"

#include <string>

#include "schemas/vocabulary/series.h"

namespace perfleet {
namespace {

template <class Reason>
void add_by_reason(MetricPage& page, const std::string& name, const std::string& help,
                   const CountsByReason<Reason>& counts) {
    for (std::size_t i = 0; i < counts.counts.size(); ++i) {
        page.counter(name, help, counts.counts[i], {{"reason", std::string{reason_name(static_cast<Reason>(i))}}});
    }
}

// `prefix` says whose: `perfleet_gateway_` of collectors, `perfleet_gateway_query_` of those who ask.
void add_connections(MetricPage& page, const std::string& prefix, const TransportCounts& counts) {
    page.gauge(prefix + "connections", "Connections that are open.", counts.connections_now);
    page.gauge(prefix + "connections_unheard", "Open connections that have sent no message yet.",
               counts.connections_unheard_now);
    page.counter(prefix + "connections_accepted_total", "Connections accepted.", counts.connections_accepted);
    page.counter(prefix + "connections_ended_total", "Connections that ended.", counts.connections_ended);
    const auto refused = [&](const char* reason, std::uint64_t count) {
        page.counter(prefix + "connections_refused_total", "Connections rejected before the handshake.", count,
                     {{"reason", reason}});
    };
    refused("connection_limit", counts.refused_connection_limit);
    refused("unheard_limit", counts.refused_unheard_limit);
    refused("first_message_timeout", counts.refused_first_message_timeout);
    refused("key_limit", counts.refused_key_limit);
    refused("revoked", counts.refused_revoked);
    refused("routing_id", counts.refused_routing_id);
    refused("abuse_limit", counts.refused_abuse_limit);
    refused("memory_limit", counts.refused_memory_limit);
    refused("unfinished_message", counts.refused_unfinished_message);
    const auto failed = [&](const char* reason, std::uint64_t count) {
        page.counter(prefix + "handshakes_failed_total", "Handshakes that failed.", count, {{"reason", reason}});
    };
    failed("unknown_key", counts.handshakes_unknown_key);
    failed("no_key", counts.handshakes_no_key);
    failed("undecipherable", counts.handshakes_undecipherable);
    failed("malformed", counts.handshakes_malformed);
    failed("unfinished", counts.handshakes_unfinished);
    page.counter(prefix + "messages_revoked_total",
                 "Messages dropped because their key was removed from the allow-list.", counts.messages_revoked);
    page.gauge(prefix + "keys_enrolled", "Keys on the allow-list.", counts.keys_enrolled);
    page.gauge(prefix + "key_files_refused", "Invalid files in the allow-list folder.", counts.key_files_refused);
}

void add_incoming(MetricPage& page, const GatewayCounts& counts) {
    page.gauge("perfleet_gateway_peers", "Connected collectors with a session.", counts.peers_now);
    page.gauge("perfleet_gateway_sessions", "Sessions held in memory.", counts.sessions_now);
    page.gauge("perfleet_gateway_shards", "Shards held, where gateways share the store; else 0.", counts.shards_now);
    page.counter("perfleet_gateway_peers_sent_elsewhere_total",
                 "Hellos of targets whose shard another gateway holds, answered with that gateway's address.",
                 counts.peers_sent_elsewhere);
    page.counter("perfleet_gateway_messages_total", "Messages received, including malformed ones.", counts.messages);
    page.counter("perfleet_gateway_received_bytes_total", "Bytes of messages received.", counts.messages_bytes);
    page.counter("perfleet_gateway_messages_dropped_total",
                 "Messages dropped because the inbox was full; batches are resent.", counts.messages_dropped);
    page.counter("perfleet_gateway_replies_dropped_total", "Replies dropped because the peer does not read.",
                 counts.replies_dropped);
    add_by_reason(page, "perfleet_gateway_messages_malformed_total", "Malformed messages dropped.",
                  counts.messages_malformed);
    add_by_reason(page, "perfleet_gateway_peers_refused_total", "Sessions refused; reason quota: deferred.",
                  counts.sessions_refused);
    add_by_reason(page, "perfleet_gateway_peers_cut_total", "Connections closed by the gateway.", counts.peers_cut);
    for (std::size_t i = 0; i < counts.requests.counts.size(); ++i) {
        page.counter("perfleet_gateway_control_requests_total", "Control requests to sessions, by outcome.",
                     counts.requests.counts[i],
                     {{"outcome", std::string{reason_name(static_cast<RequestOutcome>(i))}}});
    }
}

void add_batches(MetricPage& page, const GatewayCounts& counts) {
    const std::string help = "Batches answered, by outcome.";
    const auto add = [&](const char* outcome, std::uint64_t count) {
        page.counter("perfleet_gateway_batches_total", help, count, {{"outcome", outcome}});
    };
    add("stored", counts.batches_stored);
    add("duplicate", counts.batches_duplicate);
    add("expired", counts.batches_expired);
    add("refused", counts.batches_refused.total());
    page.counter("perfleet_gateway_batches_skipped_total",
                 "Batches not stored that their collectors no longer have: dropped, or acknowledged by a newer store.",
                 counts.batches_skipped);
    add_by_reason(page, "perfleet_gateway_batches_refused_total", "Batches that can never be stored.",
                  counts.batches_refused);
    add_by_reason(page, "perfleet_gateway_batches_ignored_total", "Batches not accepted now; collectors resend them.",
                  counts.batches_ignored);
    page.counter("perfleet_gateway_rows_stored_total", "Rows stored, including definitions.", counts.rows_stored);
    page.counter("perfleet_gateway_images_stored_total", "Images stored.", counts.images_stored);
    add_by_reason(page, "perfleet_gateway_images_refused_total", "Images that collectors sent and that aren't stored.",
                  counts.images_refused);
    page.counter("perfleet_gateway_images_deferred_total",
                 "Times that a peer's next image waited because earlier checks had used its budget.",
                 counts.images_deferred);
    page.gauge("perfleet_gateway_image_checks", "Images that wait for their check or are being checked.",
               counts.image_checks_now);
    page.histogram("perfleet_gateway_acknowledgement_seconds",
                   "From a batch's arrival to its acknowledgement, of the oldest in each acknowledgement.",
                   counts.acknowledged_after);
}

void add_losses(MetricPage& page, const GatewayCounts& counts) {
    const std::string help = "Rows that collectors report as lost, excluding definitions.";
    const std::string_view unknown = count_name(CountName{});
    std::uint64_t other = counts.rows_lost.back();
    for (std::size_t i = kCountLostFirst; i + 1 < counts.rows_lost.size(); ++i) {
        const std::string_view reason = count_name(static_cast<CountName>(i));
        if (reason == unknown) {
            other += counts.rows_lost[i];
        } else {
            page.counter("perfleet_gateway_rows_lost_total", help, counts.rows_lost[i],
                         {{"reason", std::string{reason}}});
        }
    }
    page.counter("perfleet_gateway_rows_lost_total", help, other, {{"reason", std::string{unknown}}});
}

void add_store(MetricPage& page, const GatewayReadings& readings) {
    const GatewayCounts& counts = readings.counts;
    page.counter("perfleet_gateway_commits_total", "Group commits that are on disk.", counts.group_commits);
    page.counter("perfleet_gateway_commits_failed_total", "Group commits that failed, to be tried again.",
                 counts.commits_failed);
    page.histogram("perfleet_gateway_commit_seconds", "Duration of group commits, sync included.", counts.commits_took);
    page.gauge("perfleet_gateway_store_stuck", "1 while the store can't write, so that nothing is acknowledged.",
               counts.is_store_stuck ? 1.0 : 0.0);
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
    page.gauge("perfleet_gateway_memory_limit_bytes", "Memory budget for data from collectors; 0: unlimited.",
               counts.memory_bytes_max);
    page.gauge("perfleet_gateway_memory_used_bytes", "Memory used or reserved of that budget.",
               counts.memory_bytes_now);
}

void add_compacted(MetricPage& page, const CompactionCounts& compacted) {
    page.counter("perfleet_gateway_compaction_blocks_in_total", "Blocks read by compaction.", compacted.blocks_in);
    page.counter("perfleet_gateway_compaction_blocks_out_total", "Blocks written by compaction.", compacted.blocks_out);
    page.counter("perfleet_gateway_compaction_batches_total", "Batches whose records were compacted.",
                 compacted.batches);
    page.counter("perfleet_gateway_compaction_bytes_in_total", "Bytes read by compaction.", compacted.size_bytes_in);
    page.counter("perfleet_gateway_compaction_bytes_out_total", "Bytes written by compaction.",
                 compacted.size_bytes_out);
    page.counter("perfleet_gateway_summaries_total", "Summaries of days written by compaction.", compacted.summaries);
    page.counter("perfleet_gateway_summary_rows_total", "Rows that summaries stand for.", compacted.summary_rows);
    page.counter("perfleet_gateway_summary_bytes_total", "Bytes of summaries.", compacted.summary_bytes);
    page.counter("perfleet_gateway_dictionaries_total", "Dictionaries of partitions that were made.",
                 compacted.dictionaries);
    page.counter("perfleet_gateway_dictionary_maps_total", "Epochs of sessions that were mapped into them.",
                 compacted.stack_maps);
    page.counter("perfleet_gateway_dictionary_bytes_total", "Bytes of dictionaries and maps.", compacted.map_bytes);
    page.counter("perfleet_gateway_dictionary_epochs_left_total",
                 "Epochs left out of dictionaries: no capacity, or few shared call chains.", compacted.epochs_left);
    page.counter("perfleet_gateway_compaction_failures_total", "Compactions that failed and will be retried.",
                 compacted.failures);
    page.gauge("perfleet_gateway_compaction_partitions_waiting",
               "Partitions that wait for compaction, those of the current hour included.",
               static_cast<double>(compacted.partitions_waiting_now));
}

void add_retained(MetricPage& page, const RetentionCounts& retained) {
    const auto add = [&](const std::string& name, const std::string& help, std::uint64_t ClassRetentionCounts::*count) {
        for (const ClassRetentionCounts& one : retained.classes) {
            page.counter("perfleet_gateway_retention_" + name, help, one.*count, {{"class", one.name}});
        }
    };
    add("partitions_dropped_total", "Partitions that were dropped, too old or too much.",
        &ClassRetentionCounts::partitions_dropped);
    add("rows_expired_total", "Rows that expired with them, without definitions.", &ClassRetentionCounts::rows_expired);
    add("dropped_bytes_total", "What they took on disk, about.", &ClassRetentionCounts::dropped_bytes);
    for (const ClassRetentionCounts& one : retained.classes) {
        page.gauge("perfleet_gateway_retention_kept_bytes",
                   "What is kept of a class, about; 0 where nothing is ever dropped.", one.kept_bytes_now,
                   {{"class", one.name}});
    }
    for (const ClassRetentionCounts& one : retained.classes) {
        page.gauge(
            "perfleet_gateway_retention_oldest_seconds",
            "When the oldest hour that is kept of a class began, in Unix time; 0: nothing is kept, or nothing is "
            "ever dropped.",
            static_cast<double>(one.oldest_bucket_s_now), {{"class", one.name}});
    }
    page.counter("perfleet_gateway_retention_failures_total", "Times that dropping failed, to be tried again.",
                 retained.failures);
}

}  // namespace

void add_gateway_metrics(const GatewayReadings& readings, MetricPage& page) {
    add_connections(page, "perfleet_gateway_", readings.transport);
    add_connections(page, "perfleet_gateway_query_", readings.query_transport);
    add_incoming(page, readings.counts);
    add_batches(page, readings.counts);
    add_losses(page, readings.counts);
    add_store(page, readings);
    add_compacted(page, readings.compacted);
    add_retained(page, readings.retained);
    page.counter("perfleet_gateway_query_messages_malformed_total",
                 "Messages of those who ask that weren't understood.", readings.query_transport.messages_malformed);
    page.counter("perfleet_gateway_query_restarts_total", "Times that the query process ended and was started again.",
                 readings.query_restarts);
    page.counter("perfleet_gateway_log_suppressed_total", "Log messages left out because of their number.",
                 readings.log_suppressed);
}

}  // namespace perfleet
