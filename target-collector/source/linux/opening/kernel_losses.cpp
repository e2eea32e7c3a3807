#include "target-collector/source/linux/opening/kernel_losses.h"

#include "target-collector/process/task_rows.h"

namespace perfleet {

KernelLosses::KernelLosses(const EventSet& events)
    : events_{events},
      counted_((events.events().size() + 1) * events.cpus().size()),
      reported_(events.rings().size()) {}

void KernelLosses::take(const LostRecord& lost, const RecordTrailer& trailer, std::size_t ring_index, RowSink& sink) {
    const std::size_t cpu_count = events_.cpus().size();
    const bool is_side_band = ring_index >= cpu_count;
    const auto event_index = is_side_band ? std::nullopt : events_.event_of(lost.id);
    lost_side_band_ = lost_side_band_ || is_side_band;
    if (!events_.counts_lost()) {
        // Old kernels report no more: the record names the event that was to be written next.
        sink.count_lost(event_index ? events_.series_of(*event_index) : kTaskSeries, CountName::kLostKernelRing,
                        lost.record_count);
    }
    reported_[ring_index] += lost.record_count;
    TaskRow row;
    row.time = Ticks{trailer.time};
    row.cpu = events_.cpus()[ring_index % cpu_count];
    row.op = TaskOp::kLost;
    row.size = lost.record_count;
    row.value = event_index && events_.events().size() == 1 ? *event_index : kLostEventUnknown;
    append_task_row(sink, row);
}

void KernelLosses::count(const std::vector<EventSet::Reading>& readings, RowSink& sink) {
    const std::size_t cpu_count = events_.cpus().size();
    for (std::size_t i = 0; i < readings.size(); ++i) {
        const std::uint64_t lost = readings[i].lost_count - counted_[i];
        counted_[i] = readings[i].lost_count;
        if (lost > 0) {
            const bool is_event = i / cpu_count < events_.events().size();
            lost_side_band_ = lost_side_band_ || !is_event;
            sink.count_lost(is_event ? events_.series_of(static_cast<std::uint32_t>(i / cpu_count)) : kTaskSeries,
                            CountName::kLostKernelRing, lost);
        }
    }
}

void KernelLosses::append_unreported(const std::vector<EventSet::Reading>& readings, Ticks time, RowSink& sink) const {
    const std::size_t cpu_count = events_.cpus().size();
    for (std::size_t ring = 0; ring < reported_.size(); ++ring) {
        const bool is_side_band = ring >= cpu_count;
        std::uint64_t lost = 0;
        for (std::size_t i = ring % cpu_count; i < readings.size(); i += cpu_count) {
            lost += (i / cpu_count == events_.events().size()) == is_side_band ? readings[i].lost_count : 0;
        }
        if (lost > reported_[ring]) {
            TaskRow row;
            row.time = time;
            row.cpu = events_.cpus()[ring % cpu_count];
            row.op = TaskOp::kLost;
            row.size = lost - reported_[ring];
            row.value = !is_side_band && events_.events().size() == 1 ? 0 : kLostEventUnknown;
            append_task_row(sink, row);
        }
    }
}

}  // namespace perfleet
