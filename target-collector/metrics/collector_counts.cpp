#include "target-collector/metrics/collector_counts.h"

#include <algorithm>

namespace perfleet {

void CollectorCounters::publish_rows(std::span<const CountEntry> entries, Seq last_sealed, std::uint64_t rows_open) {
    CollectorCounts counts;
    for (const CountEntry& entry : entries) {
        if (entry.name == CountName::kProduced) {
            counts.rows_produced.at(static_cast<std::size_t>(entry.series.kind)) += entry.value;
        } else if (is_loss(entry.name) && is_definition(entry.series.kind)) {
            counts.definitions_lost += entry.value;
        } else if (is_loss(entry.name)) {
            counts.rows_lost[std::min(static_cast<std::size_t>(entry.name), counts.rows_lost.size() - 1)] +=
                entry.value;
        }
    }
    counts_.rows_produced = counts.rows_produced;
    counts_.rows_lost = counts.rows_lost;
    counts_.rows_open = rows_open;
    counts_.definitions_lost = counts.definitions_lost;
    counts_.batches_sealed = last_sealed.value;
}

void CollectorCounters::publish_frequency_scale(double scale) {
    counts_.frequency_scale = scale;
    ++counts_.budget_changes;
}

void CollectorCounters::publish_delivery(const Delivery::Status& status, bool is_silent) {
    counts_.batches_acknowledged = status.batches_acknowledged;
    counts_.batches_resent = status.batches_resent;
    counts_.batches_dropped = status.batches_dropped;
    counts_.batches_refused = status.batches_refused;
    counts_.replies_ignored = status.replies_ignored;
    counts_.gateway_changes = status.gateway_changes;
    counts_.spool_used_bytes = status.spool_used_bytes;
    counts_.is_connected = status.welcomed && !is_silent;
    counts_.is_session_refused = status.session_refused;
}

}  // namespace perfleet
