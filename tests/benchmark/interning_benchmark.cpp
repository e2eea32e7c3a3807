// The collector's work for a call chain. One item is one chain of 20 frames.
#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <vector>

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/chain_cache.h"
#include "target-collector/process/stack_nodes.h"

namespace perfleet {
namespace {

constexpr std::size_t kFrames = 20;
constexpr std::size_t kChains = 4'096;

// Innermost frame first; chains share their outer frames, as those of one program do.
std::vector<std::array<std::uint64_t, kFrames>> make_chains() {
    std::mt19937_64 random{42};
    std::vector<std::array<std::uint64_t, kFrames>> chains(kChains);
    for (auto& chain : chains) {
        for (std::size_t depth = 0; depth < kFrames; ++depth) {
            const std::uint64_t choices = 1 + (kFrames - depth) / 2;
            chain[depth] = 0x55'0000'0000 + depth * 0x1000 + random() % choices * 0x40;
        }
    }
    return chains;
}

void intern_nodes(benchmark::State& state) {
    const auto chains = make_chains();
    StackNodes nodes{limits::kStackNodesMax};
    std::size_t next = 0;
    for (auto _ : state) {
        const auto& chain = chains[next++ % kChains];
        StackNumber parent{0};
        for (std::size_t depth = kFrames; depth > 0; --depth) {
            const auto found = nodes.intern({chain[depth - 1], parent, ImageNumber{1}});
            PERFLEET_ASSERT(found.has_value());
            parent = found->number;
        }
        benchmark::DoNotOptimize(parent);
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["nodes"] = nodes.node_count();
}
BENCHMARK(intern_nodes);

// A chain that is known already, found without walking its frames' mappings.
void find_known_chain(benchmark::State& state) {
    const auto chains = make_chains();
    ChainCache cache{kChains * 2};
    for (const auto& chain : chains) {
        const auto key = cache.key_of({1, 0}, chain);
        if (cache.find(key) == nullptr) {
            cache.insert(key, {StackNumber{7}, 0, 0});
        }
    }
    std::size_t next = 0;
    for (auto _ : state) {
        const CachedStack* found = cache.find(cache.key_of({1, 0}, chains[next++ % kChains]));
        PERFLEET_ASSERT(found != nullptr);
        benchmark::DoNotOptimize(found);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(find_known_chain);

}  // namespace
}  // namespace perfleet
