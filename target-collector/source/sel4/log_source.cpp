#include "target-collector/source/sel4/log_source.h"

#include <algorithm>

#include "schemas/vocabulary/named_row.h"
#include "target-collector/source/sel4/log_buffer.h"

namespace perfleet::sel4 {
namespace {

std::uint64_t tracepoint_ids(const KernelFeatures& features) {
    return std::min(features.tracepoint_count, kTracepointIdsMax);
}

}  // namespace

LogSource::LogSource(KernelInterface& kernel, EventNumber first_event)
    : kernel_{kernel}, first_event_{first_event}, follower_{kernel} {}

std::uint64_t LogSource::event_count(const KernelFeatures& features) {
    return features.mode == BenchmarkMode::kTracepoints ? 1 + tracepoint_ids(features) : 1;
}

std::uint64_t LogSource::poll(std::uint64_t record_count_max, RowSink& sink) {
    const std::uint64_t before = counts().records;
    const auto records = follower_.poll(record_count_max);
    if (kernel_.features().mode == BenchmarkMode::kKernelEntries) {
        pass_entries(records, sink);
    } else {
        pass_tracepoints(records, sink);
    }
    pass_losses(sink);
    return counts().records - before;
}

void LogSource::pass_entries(std::span<const std::byte> records, RowSink& sink) {
    const KernelFeatures& features = kernel_.features();
    const bool is_short = has_short_clock(features.architecture);
    KernelEntryReader reader{entry_layout_of(features.architecture), false, records};
    for (KernelEntry entry; reader.next(entry);) {
        if (is_short) {
            const std::uint64_t start = entry.start_ticks % kShortClockRange;
            wrapped_ticks_ += start < last_start_ ? kShortClockRange : 0;
            last_start_ = start;
            entry.start_ticks = start + wrapped_ticks_;
        }
        // Other architectures don't set the core.
        const bool has_core =
            is_arm(features.architecture) && entry_path(features.numbering, entry.path_number) == EntryPath::kInterrupt;
        using enum ColumnId;
        const auto row = row_of<Kind::kKernelEntry>(
            column<kCpu>(has_core ? word_detail(entry.detail).core : 0), column<kDuration>(entry.duration_ticks),
            column<kEntryPath>(entry.path_number), column<kEntryDetail>(entry.detail));
        sink.append({{Kind::kKernelEntry, first_event_}, Ticks{entry.start_ticks}, row});
    }
}

void LogSource::pass_tracepoints(std::span<const std::byte> records, RowSink& sink) {
    const KernelFeatures& features = kernel_.features();
    const Ticks now = records.empty() ? Ticks{} : kernel_.now();
    TracepointReader reader{word_size_of(features.architecture), tracepoint_ids(features), records};
    for (TracepointRecord record; reader.next(record);) {
        const EventNumber event{static_cast<std::uint16_t>(first_event_.value + 1 + record.id)};
        using enum ColumnId;
        const auto row = row_of<Kind::kTracepoint>(column<kWeight>(1), column<kValue>(record.duration_ticks));
        const std::span<const std::byte> raw[] = {{}};
        sink.append({{Kind::kTracepoint, event}, now, row, raw});
    }
    if (reader.quarantined_count() > 0) {
        sink.count_lost({Kind::kTracepoint, first_event_}, CountName::kLostMalformed, reader.quarantined_count());
    }
}

void LogSource::finish(RowSink& sink) {
    const std::uint64_t unread = follower_.count_unread();
    if (unread > 0) {
        sink.count_lost(first_series(), CountName::kLostUnflushed, unread);
    }
    pass_losses(sink);
}

Series LogSource::first_series() const {
    const bool is_entries = kernel_.features().mode == BenchmarkMode::kKernelEntries;
    return {is_entries ? Kind::kKernelEntry : Kind::kTracepoint, first_event_};
}

void LogSource::pass_losses(RowSink& sink) {
    const Series series = first_series();
    if (counts().lost > passed_.lost) {
        sink.count_lost(series, CountName::kLostSaturated, counts().lost - passed_.lost);
    }
    if (counts().saturations > passed_.saturations) {
        sink.count(series, CountName::kThrottled, counts().saturations - passed_.saturations);
    }
    passed_ = counts();
}

}  // namespace perfleet::sel4
