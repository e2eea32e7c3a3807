// The memory that programs share with the collector for their probes, and the names of probes in ELF files. Input:
// words at places of the area (heads, owners, names, records), with drains in between; the rest is an ELF file. Every
// row has a time of the session, and one of its events; produced rows are the appended and the lost ones.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "target-collector/source/linux/event/probe_name.h"
#include "target-collector/source/linux/image/probe_sections.h"
#include "target-collector/source/linux/probe_reader.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

constexpr int kWritesMax = 256;
constexpr std::uint32_t kEventCount = 3;
constexpr std::size_t kSlots = 2;

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000) + static_cast<std::uint64_t>(time.tv_nsec);
}

class CheckingSink final : public RowSink {
public:
    void append(const RowView& row) override {
        PERFLEET_ASSERT(row.series.kind == Kind::kTracepoint && row.series.event.value < kEventCount);
        PERFLEET_ASSERT(row.integers.size() == 7 && row.bytes.size() == 1 && row.bytes[0].empty());
        PERFLEET_ASSERT(row.time.value >= began_ns_ && row.time.value <= now_ns());
        PERFLEET_ASSERT(std::ranges::all_of(row.integers.first(3), [](auto id) { return id <= 0xffff'ffff; }));
    }
    void count_lost(Series series, CountName, std::uint64_t row_count) override {
        PERFLEET_ASSERT(series.event.value < kEventCount && row_count < 1ULL << 62U);
    }
    void count(Series, CountName, std::uint64_t) override {}
    [[nodiscard]] bool epoch_is_over() const override { return false; }
    void begin_epoch(Ticks) override {}

private:
    std::uint64_t began_ns_ = now_ns();
};

ProbeArea& area() {
    static const auto kArea = std::move(*ProbeArea::create());
    return *kArea;
}

void write_somewhere(FuzzInput& input, std::uint64_t time_ns) {
    perfleet_probe_area& head = area().head();
    perfleet_probe_slot& slot = area().slot(input.byte() % kSlots);
    const std::uint64_t kind = input.byte() % 10;
    const std::uint64_t small = input.byte();
    const auto word = [&] { return input.integer(1 + (small % 8)); };
    switch (kind) {
        case 0: head.owners[small % kSlots] = (word() << 32U) | word(); break;
        case 1: head.ended[small % kSlots] = word(); break;
        case 2: head.without_slot += word(); break;
        case 3: slot.head += small; break;
        case 4: slot.head = word(); break;
        case 5: slot.tail = word(); break;
        case 6:
            slot.lost[small % PERFLEET_PROBE_IDS] += word();
            slot.lost_sum += 1;
            break;
        case 7: {
            const std::string_view text = input.text(sizeof(perfleet_probe_name));
            std::memcpy(&slot.names[small % PERFLEET_PROBE_IDS], text.data(), text.size());
            slot.name_count = input.byte();
            break;
        }
        case 8: slot.records[slot.head++ % PERFLEET_PROBE_RING_RECORDS] = {word(), word(), word()}; break;
        default: slot.records[slot.head++ % PERFLEET_PROBE_RING_RECORDS] = {time_ns, small, word()}; break;
    }
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    std::memset(&area().head().without_slot, 0,
                sizeof(perfleet_probe_area) - offsetof(perfleet_probe_area, without_slot));
    for (std::size_t i = 0; i < kSlots; ++i) {
        std::memset(&area().slot(i), 0, sizeof(perfleet_probe_slot));
    }
    CheckingSink sink;
    {
        const auto series = [](std::uint16_t event) { return Series{Kind::kTracepoint, EventNumber{event}}; };
        ProbeReader reader{area(),
                           {{"a", false, series(0)}, {"b", true, series(1)}, {"other", false, series(2)}},
                           [](std::string_view text) { PERFLEET_ASSERT(text.size() < 512); }};
        const std::uint64_t time_ns = now_ns();
        const int write_count = input.byte();
        for (int i = 0; i < write_count && i < kWritesMax; ++i) {
            write_somewhere(input, time_ns);
            if (i % 8 == 7) {
                reader.drain(now_ns(), now_ns() + (i % 16 == 15 ? 1'000'000'000 : 0), sink);
            }
        }
        reader.finish(now_ns(), sink);
    }
    {
        // The next collector reads the rest.
        ProbeReader next{{{"other", false, {Kind::kTracepoint, EventNumber{0}}}}, [](std::string_view) {}};
        next.add_area(area(), true);
        area().slot(0).head += 1;
        next.finish(now_ns(), sink);
        next.remove_area(area());
    }
    const auto elf = input.rest();
    const auto read = [elf](std::uint64_t offset, std::span<std::byte> into) {
        if (offset > elf.size() || into.size() > elf.size() - offset) {
            return false;
        }
        std::memcpy(into.data(), elf.data() + offset, into.size());
        return true;
    };
    (void)probe_door_of(read, 0);
    (void)probe_door_of(read, 0x1000);
    for (const ProbeName& name : probe_names_of(probe_entries_of(read))) {
        PERFLEET_ASSERT(is_probe_name(name.name));
        const auto specs = find_probes("", name.name, {});
        PERFLEET_ASSERT(specs.ok() && specs->size() == 1);
    }
    return 0;
}
