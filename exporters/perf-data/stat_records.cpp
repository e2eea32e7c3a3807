#include "exporters/perf-data/stat_records.h"

#include <array>
#include <set>
#include <vector>

#include "schemas/perf/stat_record.h"

namespace perfleet {
namespace {

constexpr std::uint16_t kAnyCpu = 0xffff;

void begin(PerfRecordWriter& writer, std::uint32_t type) { writer.begin(static_cast<perf::RecordType>(type), 0); }

void write_unit(PerfRecordWriter& writer, std::uint64_t event_id, const CounterUnit& unit) {
    constexpr std::uint64_t kUnit = 0;
    constexpr std::uint64_t kScale = 1;
    begin(writer, perf::kEventUpdateRecord);
    writer.put(kUnit, event_id);
    writer.put_name(unit.name);
    writer.end();
    begin(writer, perf::kEventUpdateRecord);
    writer.put(kScale, event_id, unit.scale);
    writer.end();
}

// Writes one thread that stands for all; without CPUs, one that stands for any.
void write_maps(PerfRecordWriter& writer, const std::vector<std::uint16_t>& cpus) {
    begin(writer, perf::kThreadMapRecord);
    writer.put(std::uint64_t{1}, ~std::uint64_t{0}, std::array<char, 16>{});
    writer.end();
    begin(writer, perf::kCpuMapRecord);
    writer.put(std::uint16_t{0}, static_cast<std::uint16_t>(cpus.size()));
    writer.put_bytes(cpus.data(), cpus.size() * sizeof(std::uint16_t));
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

void write_count(PerfRecordWriter& writer, const ExportedEvent& event, std::uint32_t cpu,
                 const CounterTotal::Count& count) {
    begin(writer, perf::kStatRecord);
    writer.put(perf::StatRecord{event.id, cpu, 0, count.value, count.enabled_ns, count.running_ns});
    writer.end();
}

// The CPUs that any event was counted on, if all events were counted by CPU.
std::vector<std::uint16_t> cpus_of(std::span<const CountedEvent> counted) {
    std::set<std::uint16_t> cpus;
    for (const CountedEvent& one : counted) {
        for (const auto& [cpu, count] : one.by_cpu) {
            if (cpu >= kAnyCpu) {
                return {};
            }
            cpus.insert(static_cast<std::uint16_t>(cpu));
        }
        if (one.by_cpu.empty()) {
            return {};
        }
    }
    return {cpus.begin(), cpus.end()};
}

}  // namespace

void write_stat_records(PerfRecordWriter& writer, std::span<const CountedEvent> counted, std::uint64_t elapsed_ns) {
    if (counted.empty()) {
        return;
    }
    for (const CountedEvent& one : counted) {
        if (one.unit) {
            write_unit(writer, one.event->id, *one.unit);
        }
    }
    const std::vector<std::uint16_t> cpus = cpus_of(counted);
    write_maps(writer, cpus.empty() ? std::vector{kAnyCpu} : cpus);
    write_config(writer);
    for (const CountedEvent& one : counted) {
        if (cpus.empty()) {
            write_count(writer, *one.event, ~std::uint32_t{0}, one.sum);
        }
        for (const std::uint16_t cpu : cpus) {
            if (const auto count = one.by_cpu.find(cpu); count != one.by_cpu.end()) {
                write_count(writer, *one.event, cpu, count->second);
            }
        }
    }
    constexpr std::uint64_t kFinal = 1;
    begin(writer, perf::kStatRoundRecord);
    writer.put(perf::StatRound{kFinal, elapsed_ns});
    writer.end();
}

}  // namespace perfleet
