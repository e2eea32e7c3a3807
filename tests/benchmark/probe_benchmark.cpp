// A pair of probes beside two bare clock reads and two events of LTTng-UST, on one thread. One item is a pair.
//
// Pairs are measured by thousands, and the ring is emptied in between: a full ring costs something else. The program
// runs itself again with the ring in its environment. LTTng's events count only where a session records them
// (probe_cost.py makes one).
#include <benchmark/benchmark.h>
#include <perfleet/probe.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <thread>

#include "target-collector/source/linux/probe_reader.h"
#ifdef PERFLEET_HAS_LTTNG
#include "tests/benchmark/probe_lttng.h"
#endif

namespace perfleet {
namespace {

constexpr unsigned kPairs = 4'000;  // a quarter of a ring
constexpr unsigned kId = 1;

// As fast as a quick collector.
void empty_ring() {
    if (const auto* const thread = perfleet_probe_thread_; thread != nullptr && thread->slot != nullptr) {
        __atomic_store_n(&thread->slot->tail, thread->head, __ATOMIC_RELEASE);
    }
}

// The machine may be busy.
double cpu_s() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + (static_cast<double>(time.tv_nsec) / 1e9);
}

template <class Pair>
void measure(benchmark::State& state, Pair pair) {
    for (auto _ : state) {
        const double begin_s = cpu_s();
        for (unsigned i = 0; i < kPairs; ++i) {
            pair();
        }
        state.SetIterationTime(cpu_s() - begin_s);
        empty_ring();
    }
    state.SetItemsProcessed(state.iterations() * kPairs);
    state.counters["pair_ns"] = benchmark::Counter(static_cast<double>(state.iterations()) * kPairs / 1e9,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void two_clock_reads(benchmark::State& state) {
    measure(state, [] {
        benchmark::DoNotOptimize(perfleet_probe_now_());
        benchmark::DoNotOptimize(perfleet_probe_now_());
    });
}
BENCHMARK(two_clock_reads)->UseManualTime();

void probe_pair(benchmark::State& state) {
    measure(state, [] {
        PERFLEET_TRACE_START(kId);
        PERFLEET_TRACE_STOP(kId);
    });
    if (perfleet_probe_thread_ == nullptr) {
        state.SkipWithError("the probes have no ring");
    }
}
BENCHMARK(probe_pair)->UseManualTime();

void probe_pair_without_collector(benchmark::State& state) {
    const std::uint32_t was_on = perfleet_probe_door_.is_on;
    perfleet_probe_door_.is_on = 0;
    measure(state, [] {
        PERFLEET_TRACE_START(kId);
        PERFLEET_TRACE_STOP(kId);
    });
    perfleet_probe_door_.is_on = was_on;
}
BENCHMARK(probe_pair_without_collector)->UseManualTime();

#ifdef PERFLEET_HAS_LTTNG
void lttng_pair(benchmark::State& state) {
    measure(state, [] {
        lttng_ust_tracepoint(perfleet_benchmark, start, kId);
        lttng_ust_tracepoint(perfleet_benchmark, stop, kId);
    });
}
BENCHMARK(lttng_pair)->UseManualTime();
#endif

}  // namespace
}  // namespace perfleet

int main(int count, char** words) {
    const std::string variable = PERFLEET_PROBE_ENVIRONMENT;
    if (std::getenv(variable.c_str()) == nullptr) {
        // The file stays open over exec: the new program finds it under its own id, which is the same.
        auto area = perfleet::ProbeArea::create();
        if (!area.ok()) {
            std::fprintf(stderr, "probe_benchmark: %s\n", area.error().message.c_str());
            return 1;
        }
        const std::string path = (*area)->variable().substr(variable.size() + 1);
        const int kept = ::dup(std::atoi(path.substr(path.rfind('/') + 1).c_str()));
        ::setenv(variable.c_str(), (path.substr(0, path.rfind('/') + 1) + std::to_string(kept)).c_str(), 1);
        ::execv("/proc/self/exe", words);
        return 1;
    }
    benchmark::Initialize(&count, words);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
