// Runs one benchmark of a program (probe/perfleet/bench.h), as a session with its parameters and every latency.
//
// SIGUSR1 starts a waiting run, or makes a running one report its progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/link/gateway_choice.h"

namespace perfleet {

inline constexpr std::uint64_t kBenchRowsMax = 1U << 24;  // of a run; kept in memory until it is stored

// Without a gateway, results go into a folder after the run; with one, they are sent during the run.
struct BenchOptions : GatewayChoice {
    std::vector<std::string> words;  // the program, then names of benchmarks
    std::uint64_t loop_count = 5'000;
    std::uint64_t warmup_count = 10'000;
    std::uint64_t seed = 1;
    std::vector<std::uint64_t> circle;  // I, D, G and S; empty: every iteration is measured
    bool waits = false;

    [[nodiscard]] std::uint64_t row_count(std::size_t thread_count) const {
        return circle.empty() ? loop_count * thread_count : circle[2] * circle[3];
    }
};

[[nodiscard]] std::string cpu_text(const std::vector<std::uint32_t>& cpus);

using BenchLabels = std::map<std::string, std::string>;

// False: the run failed; the failure is reported and stored. Errors are those of the harness.
[[nodiscard]] Result<bool> store_benchmark(const BenchOptions& options, const std::string& folder,
                                           const std::string& name, const std::vector<std::uint32_t>& cpus,
                                           BenchLabels labels);
// The same, but sends rows to a gateway during the run, in a session like those of collectors.
[[nodiscard]] Result<bool> stream_benchmark(const BenchOptions& options, const std::string& name,
                                            const std::vector<std::uint32_t>& cpus, BenchLabels labels);

}  // namespace perfleet
