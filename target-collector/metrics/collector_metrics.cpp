#include "target-collector/metrics/collector_metrics.h"

#include <string>

namespace perfleet {
namespace {

void show_counts(MetricPage& page, const std::string& prefix, const OrphanCounts& counts) {
    PERFLEET_ORPHAN_COUNTS(PERFLEET_COUNT_METRIC)
}

void show_counts(MetricPage& page, const std::string& prefix, const SpoolSyncCounts& counts) {
    PERFLEET_SPOOL_SYNC_COUNTS(PERFLEET_COUNT_METRIC)
}

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
}

}  // namespace

void add_collector_metrics(const CollectorCounts& counts, std::uint64_t log_suppressed, MetricPage& page) {
    const std::string prefix = "perfleet_collector_";
    add_rows(counts, page);
    PERFLEET_COLLECTOR_COUNTS(PERFLEET_COUNT_METRIC)
    show_counts(page, prefix, counts.orphans);
    show_counts(page, prefix, counts.spool_syncs);
    page.gauge("perfleet_collector_frequency_lowered_ratio",
               "The part of the sampling frequency that --cpu-budget leaves out; 0: none.", 1 - counts.frequency_scale);
    page.counter("perfleet_collector_log_suppressed_total", "Log messages left out because of their number.",
                 log_suppressed);
}

}  // namespace perfleet
