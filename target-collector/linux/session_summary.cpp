#include "target-collector/linux/session_summary.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "target-collector/message/sealer.h"

namespace perfleet {

CollectorSummary rows_of_session(std::span<const CountEntry> counts, SpscRing& losses, std::uint64_t rows_given_up) {
    CollectorSummary summary;
    const auto is_from_wire = [](CountName name) {
        return name == CountName::kLostSpoolFull || name == CountName::kLostRefused;
    };
    // Losses of the wire thread after the sealer finished are in its last report, which has all of its losses.
    std::vector<CountEntry> from_wire;
    bool has_report = false;
    for (auto record = losses.acquire(); !record.empty(); record = losses.acquire()) {
        LossReport report;
        std::memcpy(&report, record.data(), sizeof(report));
        from_wire.resize(report.entry_count);
        std::memcpy(from_wire.data(), record.data() + sizeof(report) + (report.range_count * sizeof(SeqRange)),
                    report.entry_count * sizeof(CountEntry));
        has_report = true;
        losses.release();
    }
    std::map<CountName, std::uint64_t> lost;
    const auto take = [&](const CountEntry& entry) {
        if (is_definition(entry.series.kind)) {
            return;
        }
        if (entry.name == CountName::kProduced) {
            summary.rows_produced += entry.value;
            if (entry.series.kind == Kind::kSample || entry.series.kind == Kind::kDetailedSample) {
                summary.samples_produced += entry.value;
            } else if (entry.series.kind == Kind::kTracepoint) {
                summary.tracepoints_produced += entry.value;
            }
        } else if (is_loss(entry.name) && entry.value > 0) {
            lost[entry.name] += entry.value;
            summary.rows_lost += entry.value;
        }
    };
    for (const CountEntry& entry : counts) {
        if (!has_report || !is_from_wire(entry.name)) {
            take(entry);
        }
    }
    for (const CountEntry& entry : from_wire) {
        take(entry);
    }
    // The ledger has no reason of its own for undelivered rows: they count as dropped from the spool.
    auto& dropped = lost[CountName::kLostSpoolFull];
    summary.rows_undelivered = std::min(rows_given_up, dropped);
    dropped -= summary.rows_undelivered;
    for (const auto& [reason, count] : lost) {
        if (count > 0) {
            summary.lost_by_reason.emplace_back(reason, count);
        }
    }
    return summary;
}

}  // namespace perfleet
