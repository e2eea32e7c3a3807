#include "gateway/metrics/gateway_metrics.h"

#include <string>

#include "schemas/vocabulary/kind.h"

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
    page.gauge(prefix + "connections_unheard", "Of them, those that haven't said anything yet.",
               counts.connections_unheard_now);
    page.counter(prefix + "connections_accepted_total", "Connections accepted.", counts.connections_accepted);
    page.counter(prefix + "connections_ended_total", "Connections that ended.", counts.connections_ended);
    page.counter(prefix + "connections_renewed_total",
                 "Connections closed for the memory that they had come to take; their peers connect again.",
                 counts.connections_renewed);
    const auto refused = [&](const char* reason, std::uint64_t count) {
        page.counter(prefix + "connections_refused_total", "Connections closed at the door.", count,
                     {{"reason", reason}});
    };
    refused("connection_limit", counts.refused_connection_limit);
    refused("unheard_limit", counts.refused_unheard_limit);
    refused("mute", counts.refused_mute);
    refused("key_limit", counts.refused_key_limit);
    refused("revoked", counts.refused_revoked);
    refused("named_itself", counts.refused_named_itself);
    refused("conduct", counts.refused_conduct);
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
                 "Messages dropped because their key was taken off the allow-list meanwhile.", counts.messages_revoked);
    page.gauge(prefix + "keys_enrolled", "Keys on the allow-list.", counts.keys_enrolled);
    page.gauge(prefix + "key_files_refused", "Files of the allow-list that can't be used.", counts.key_files_refused);
}

void add_incoming(MetricPage& page, const GatewayCounts& counts) {
    page.gauge("perfleet_gateway_peers", "Collectors that have said Hello and are there.", counts.peers_now);
    page.gauge("perfleet_gateway_sessions", "Sessions held in memory.", counts.sessions_now);
    page.counter("perfleet_gateway_messages_total", "Messages received, malformed ones too.", counts.messages);
    page.counter("perfleet_gateway_received_bytes_total", "Bytes of messages received.", counts.messages_bytes);
    page.counter("perfleet_gateway_messages_dropped_total",
                 "Messages dropped unread because too many were waiting; batches come again.", counts.messages_dropped);
    page.counter("perfleet_gateway_replies_dropped_total", "Replies dropped because their peers don't read.",
                 counts.replies_dropped);
    add_by_reason(page, "perfleet_gateway_messages_malformed_total", "Messages dropped without being understood.",
                  counts.messages_malformed);
    add_by_reason(page, "perfleet_gateway_peers_refused_total", "Sessions refused; `quota`: put off.",
                  counts.sessions_refused);
    add_by_reason(page, "perfleet_gateway_peers_cut_total", "Connections closed by the gateway.", counts.peers_cut);
    for (std::size_t i = 0; i < counts.orders.counts.size(); ++i) {
        page.counter("perfleet_gateway_orders_total", "Operators' orders to sessions, by what became of them.",
                     counts.orders.counts[i], {{"outcome", std::string{reason_name(static_cast<OrderOutcome>(i))}}});
    }
}

void add_batches(MetricPage& page, const GatewayCounts& counts) {
    const std::string help = "Batches answered, by what became of them.";
    const auto add = [&](const char* outcome, std::uint64_t count) {
        page.counter("perfleet_gateway_batches_total", help, count, {{"outcome", outcome}});
    };
    add("stored", counts.batches_stored);
    add("duplicate", counts.batches_duplicate);
    add("expired", counts.batches_expired);
    add("refused", counts.batches_refused.total());
    add_by_reason(page, "perfleet_gateway_batches_refused_total", "Batches that can never be stored.",
                  counts.batches_refused);
    add_by_reason(page, "perfleet_gateway_batches_ignored_total",
                  "Batches left with their collectors for now, to come again.", counts.batches_ignored);
    page.counter("perfleet_gateway_rows_stored_total", "Rows stored, definitions too.", counts.rows_stored);
    page.counter("perfleet_gateway_images_stored_total", "Images stored.", counts.images_stored);
    page.histogram("perfleet_gateway_acknowledgement_seconds",
                   "From a batch's arrival to its acknowledgement, of the oldest in each acknowledgement.",
                   counts.acknowledged_after);
}

void add_losses(MetricPage& page, const GatewayCounts& counts) {
    const std::string help = "Rows that collectors said they lost, definitions not counted.";
    const std::string_view unknown = tally_name(TallyName{});
    std::uint64_t other = counts.rows_lost.back();
    for (std::size_t i = kTallyLostFirst; i + 1 < counts.rows_lost.size(); ++i) {
        const std::string_view reason = tally_name(static_cast<TallyName>(i));
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
    page.gauge("perfleet_gateway_store_damage",
               "Damages of the store that were met since the start, a few dozen at most.", readings.store_damage_count);
    if (readings.store) {
        page.gauge("perfleet_gateway_store_size_bytes", "What the store takes on disk.", readings.store->used_bytes);
        page.gauge("perfleet_gateway_store_free_bytes", "Room left for the store on its file system.",
                   readings.store->free_bytes);
    }
    page.gauge("perfleet_gateway_memory_limit_bytes", "Budget of what collectors can fill; 0: none.",
               counts.memory_bytes_max);
    page.gauge("perfleet_gateway_memory_used_bytes", "Of that budget, held or promised to collectors.",
               counts.memory_bytes_now);
}

void add_joined(MetricPage& page, const JoinCounts& joined) {
    page.counter("perfleet_gateway_join_blocks_in_total", "Small blocks that were joined.", joined.blocks_in);
    page.counter("perfleet_gateway_join_blocks_out_total", "Blocks that they were joined into.", joined.blocks_out);
    page.counter("perfleet_gateway_join_batches_total", "Batches whose records were joined.", joined.batches);
    page.counter("perfleet_gateway_join_bytes_in_total", "Bytes of what was joined.", joined.size_bytes_in);
    page.counter("perfleet_gateway_join_bytes_out_total", "Bytes that they were joined into.", joined.size_bytes_out);
    page.counter("perfleet_gateway_rollups_total", "Rollups that were made of what was joined.", joined.rollups);
    page.counter("perfleet_gateway_rollup_rows_total", "Rows that they stand for.", joined.rollup_rows);
    page.counter("perfleet_gateway_rollup_bytes_total", "Bytes of them.", joined.rollup_bytes);
    page.counter("perfleet_gateway_rollup_rows_left_total", "Rows too varied for a rollup to be worth its bytes.",
                 joined.rollup_rows_left);
    page.counter("perfleet_gateway_dictionaries_total", "Dictionaries of partitions that were made.",
                 joined.dictionaries);
    page.counter("perfleet_gateway_dictionary_maps_total", "Epochs of sessions that were mapped into them.",
                 joined.stack_maps);
    page.counter("perfleet_gateway_dictionary_bytes_total", "Bytes of dictionaries and maps.", joined.map_bytes);
    page.counter("perfleet_gateway_dictionary_epochs_left_total",
                 "Epochs without a map: their call chains had no room in the dictionary, or little in common.",
                 joined.epochs_left);
    page.counter("perfleet_gateway_join_failures_total", "Times that joining failed, to be tried again.",
                 joined.failures);
    page.gauge("perfleet_gateway_join_partitions_waiting",
               "Partitions that wait to be joined, those of the current hour included.",
               static_cast<double>(joined.partitions_waiting_now));
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
    add_joined(page, readings.joined);
    add_retained(page, readings.retained);
    page.counter("perfleet_gateway_query_messages_malformed_total",
                 "Messages of those who ask that weren't understood.", readings.query_transport.messages_malformed);
    page.counter("perfleet_gateway_query_restarts_total", "Times that the query process ended and was started again.",
                 readings.query_restarts);
    page.counter("perfleet_gateway_log_suppressed_total", "Log messages left out because of their number.",
                 readings.log_suppressed);
}

}  // namespace perfleet
