#include "exporters/perf-data/stat_records.h"

#include <array>

#include "schemas/perf/stat_record.h"

namespace perfleet {
namespace {

void begin(PerfRecordWriter& writer, std::uint32_t type) { writer.begin(static_cast<perf::RecordType>(type), 0); }

void write_unit(PerfRecordWriter& writer, std::uint64_t event_id) {
    constexpr std::uint64_t kUnit = 0;
    constexpr std::uint64_t kScale = 1;
    begin(writer, perf::kEventUpdateRecord);
    writer.put(kUnit);
    writer.put(event_id);
    writer.put_name("msec");
    writer.end();
    begin(writer, perf::kEventUpdateRecord);
    writer.put(kScale);
    writer.put(event_id);
    writer.put(1e-6);
    writer.end();
}

// One CPU that stands for any, one thread that stands for all.
void write_maps(PerfRecordWriter& writer) {
    begin(writer, perf::kThreadMapRecord);
    writer.put(std::uint64_t{1});
    writer.put(~std::uint64_t{0});
    writer.put(std::array<char, 16>{});
    writer.end();
    begin(writer, perf::kCpuMapRecord);
    writer.put(std::array<std::uint16_t, 3>{0, 1, 0xffff});
    writer.end();
}

void write_config(PerfRecordWriter& writer) {
    constexpr std::uint64_t kAggregation = 0;
    constexpr std::uint64_t kOfAll = 1;
    constexpr std::uint64_t kInterval = 1;
    constexpr std::uint64_t kScale = 2;
    begin(writer, perf::kStatConfigRecord);
    writer.put(std::array<std::uint64_t, 7>{3, kAggregation, kOfAll, kInterval, 0, kScale, 1});
    writer.end();
}

}  // namespace

void write_stat_records(PerfRecordWriter& writer, std::span<const CountedEvent> counted, std::uint64_t elapsed_ns) {
    if (counted.empty()) {
        return;
    }
    for (const CountedEvent& one : counted) {
        if (one.is_time) {
            write_unit(writer, one.event->id);
        }
    }
    write_maps(writer);
    write_config(writer);
    for (const CountedEvent& one : counted) {
        begin(writer, perf::kStatRecord);
        writer.put(perf::StatRecord{one.event->id, ~std::uint32_t{0}, 0, one.value, one.enabled_ns, one.running_ns});
        writer.end();
    }
    constexpr std::uint64_t kFinal = 1;
    begin(writer, perf::kStatRoundRecord);
    writer.put(perf::StatRound{kFinal, elapsed_ns});
    writer.end();
}

}  // namespace perfleet
