#include "target-collector/intake/perf-data/stat_replay.h"

#include <algorithm>

#include "schemas/perf/perf_event.h"
#include "target-collector/records/byte_cursor.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kAny = ~std::uint32_t{0};  // cpu, or process

ByteCursor cursor_of(const RecordBytes& record, bool is_foreign) {
    return ByteCursor{record.bytes.subspan(sizeof(perf::RecordHeader)), is_foreign};
}

}  // namespace

std::optional<std::uint64_t> StatReplay::round_time_ns(const RecordBytes& record, bool is_foreign) {
    if (record.type != perf::kStatRoundRecord) {
        return std::nullopt;
    }
    ByteCursor cursor = cursor_of(record, is_foreign);
    cursor.skip(sizeof(std::uint64_t));  // type: an interval's end or the last
    const std::uint64_t time_ns = cursor.u64();
    return cursor.failed() ? std::nullopt : std::optional{time_ns};
}

bool StatReplay::take(const RecordBytes& record) {
    bool is_good = true;
    switch (record.type) {
        case perf::kThreadMapRecord: is_good = take_threads(record); break;
        case perf::kStatRecord: is_good = take_reading(record); break;
        case perf::kStatRoundRecord: {
            const auto time_ns = round_time_ns(record, events_.is_foreign());
            is_good = time_ns.has_value();
            end_round(time_ns.value_or(0));
            break;
        }
        case perf::kCpuMapRecord:
        case perf::kStatConfigRecord: break;  // the readings themselves say the same
        default: return false;
    }
    if (!is_good) {
        replay_.count_malformed();
    }
    return true;
}

bool StatReplay::take_threads(const RecordBytes& record) {
    constexpr std::size_t kNameSizeBytes = 16;
    ByteCursor cursor = cursor_of(record, events_.is_foreign());
    const std::uint64_t count = std::min<std::uint64_t>(cursor.u64(), kThreadsMax);
    threads_.clear();
    for (std::uint64_t i = 0; i < count && !cursor.failed(); ++i) {
        threads_.push_back(static_cast<std::uint32_t>(cursor.u64()));
        cursor.skip(kNameSizeBytes);
    }
    return !cursor.failed();
}

bool StatReplay::take_reading(const RecordBytes& record) {
    ByteCursor cursor = cursor_of(record, events_.is_foreign());
    perf::StatRecord reading{};
    cursor.read(reading.event_id, reading.cpu, reading.thread, reading.value, reading.enabled_ns, reading.running_ns);
    if (cursor.failed() || readings_.size() == kReadingsMax) {
        return false;
    }
    readings_.push_back(reading);
    return true;
}

void StatReplay::end_round(std::uint64_t time_ns) {
    last_ns_ = std::max(last_ns_, time_ns);
    for (const perf::StatRecord& reading : readings_) {
        const auto event = events_.event_of_id(reading.event_id);
        if (!event) {
            replay_.count_malformed();
            continue;
        }
        CounterReading row;
        row.cpu = reading.cpu == kAny ? 0 : reading.cpu;
        row.pid = reading.thread < threads_.size() ? threads_[reading.thread] : kAny;
        row.tid = row.pid;
        row.value = reading.value;
        row.enabled_ns = reading.enabled_ns;
        row.running_ns = reading.running_ns;
        replay_.take_counter(*event, row, start_ns_ + std::min(last_ns_, ~start_ns_));
    }
    readings_.clear();
}

void StatReplay::finish() {
    if (!readings_.empty()) {
        end_round(last_ns_ + 1);
    }
}

}  // namespace perfleet
