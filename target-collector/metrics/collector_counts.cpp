#include "target-collector/metrics/collector_counts.h"

#include <algorithm>

namespace perfleet {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

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
    for (std::size_t i = 0; i < rows_produced_.size(); ++i) {
        rows_produced_[i].store(counts.rows_produced[i], kRelaxed);
    }
    for (std::size_t i = 0; i < rows_lost_.size(); ++i) {
        rows_lost_[i].store(counts.rows_lost[i], kRelaxed);
    }
    rows_open_.store(rows_open, kRelaxed);
    definitions_lost_.store(counts.definitions_lost, kRelaxed);
    batches_sealed_.store(last_sealed.value, kRelaxed);
}

void CollectorCounters::publish_frequency_scale(double scale) {
    frequency_scale_.store(scale, kRelaxed);
    budget_changes_.fetch_add(1, kRelaxed);
}

void CollectorCounters::publish_delivery(const Delivery::Status& status, bool is_silent) {
    batches_acknowledged_.store(status.batches_acknowledged, kRelaxed);
    batches_resent_.store(status.batches_resent, kRelaxed);
    batches_dropped_.store(status.batches_dropped, kRelaxed);
    batches_refused_.store(status.batches_refused, kRelaxed);
    replies_ignored_.store(status.replies_ignored, kRelaxed);
    gateway_changes_.store(status.gateway_changes, kRelaxed);
    spool_used_bytes_.store(status.spool_used_bytes, kRelaxed);
    is_connected_.store(status.welcomed && !is_silent, kRelaxed);
    is_session_refused_.store(status.session_refused, kRelaxed);
}

CollectorCounts CollectorCounters::read() const {
    CollectorCounts counts;
    for (std::size_t i = 0; i < rows_produced_.size(); ++i) {
        counts.rows_produced[i] = rows_produced_[i].load(kRelaxed);
    }
    for (std::size_t i = 0; i < rows_lost_.size(); ++i) {
        counts.rows_lost[i] = rows_lost_[i].load(kRelaxed);
    }
    counts.rows_open = rows_open_.load(kRelaxed);
    counts.definitions_lost = definitions_lost_.load(kRelaxed);
    counts.batches_sealed = batches_sealed_.load(kRelaxed);
    counts.batches_acknowledged = batches_acknowledged_.load(kRelaxed);
    counts.batches_resent = batches_resent_.load(kRelaxed);
    counts.batches_dropped = batches_dropped_.load(kRelaxed);
    counts.batches_refused = batches_refused_.load(kRelaxed);
    counts.replies_ignored = replies_ignored_.load(kRelaxed);
    counts.gateway_changes = gateway_changes_.load(kRelaxed);
    counts.spool_used_bytes = spool_used_bytes_.load(kRelaxed);
    counts.frequency_scale = frequency_scale_.load(kRelaxed);
    counts.budget_changes = budget_changes_.load(kRelaxed);
    counts.is_connected = is_connected_.load(kRelaxed);
    counts.is_session_refused = is_session_refused_.load(kRelaxed);
    return counts;
}

}  // namespace perfleet
