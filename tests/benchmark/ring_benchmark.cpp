// The ring between source and wire. One item is one record.
#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

#include "schemas/vocabulary/assert.h"
#include "target-collector/ring/spsc_ring.h"

namespace perfleet {
namespace {

struct Memory {
    std::vector<std::uint64_t> words = std::vector<std::uint64_t>((1U << 20) / 8);
    std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{words}); }
};

// No bytes a second: the record's content isn't copied.
void report(benchmark::State& state) { state.SetItemsProcessed(state.iterations()); }

// Both ends on one thread: the cost of the calls alone.
void pass_on_one_thread(benchmark::State& state) {
    Memory memory;
    SpscRing ring{memory.bytes()};
    const auto size_bytes = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        const auto room = ring.reserve(size_bytes);
        PERFLEET_ASSERT(!room.empty());
        room[0] = std::byte{1};
        ring.commit(size_bytes);
        benchmark::DoNotOptimize(ring.acquire().data());
        ring.release();
    }
    report(state);
}
BENCHMARK(pass_on_one_thread)->Arg(64)->Arg(1024)->Arg(84 * 1024);

// Producer here, consumer on a thread of its own.
void pass_between_threads(benchmark::State& state) {
    Memory memory;
    SpscRing ring{memory.bytes()};
    const auto size_bytes = static_cast<std::size_t>(state.range(0));
    std::jthread consumer{[&] {
        for (bool last = false; !last;) {
            const auto record = ring.acquire();
            if (record.empty()) {
                std::this_thread::yield();
                continue;
            }
            last = record[0] == std::byte{0xff};
            ring.release();
        }
    }};
    const auto pass = [&](std::byte first) {
        std::span<std::byte> room = ring.reserve(size_bytes);
        while (room.empty()) {
            std::this_thread::yield();
            room = ring.reserve(size_bytes);
        }
        room[0] = first;
        ring.commit(size_bytes);
    };
    for (auto _ : state) {
        pass(std::byte{1});
    }
    pass(std::byte{0xff});
    report(state);
}
BENCHMARK(pass_between_threads)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace perfleet
