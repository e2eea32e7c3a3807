// How often `diff` gives a verdict: of equal sides, where each is wrong, and of changed ones; and how often intervals
// of values that depend on each other hold the true figure. Prints tables.
//
//   verdicts [--rounds N]
//   verdicts --coverage [ROUNDS]      of values that depend on each other alone, 2,000 rounds
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "query-engine/statistic/number/testing/run_simulation.h"

namespace perfleet {
namespace {

// How often the intervals that are shown contain the true figure.
void print_coverage(int rounds) {
    std::printf("correlation  values   mean held   p90 shown   of these held   (of %d samples)\n", rounds);
    for (const long double correlation : {0.0L, 0.5L, 0.9L}) {
        for (const std::size_t count : {100U, 300U, 1'000U, 3'000U}) {
            RandomStream random{count + static_cast<std::uint64_t>(correlation * 10)};
            int mean = 0;
            int shown = 0;
            int p90 = 0;
            for (int round = 0; round < rounds; ++round) {
                const CorrelatedCoverage coverage = correlated_coverage(count, correlation, random);
                mean += coverage.mean ? 1 : 0;
                shown += coverage.is_p90_shown ? 1 : 0;
                p90 += coverage.p90 ? 1 : 0;
            }
            std::printf("%11.1Lf  %6zu  %9.1f%%  %9.1f%%  %13.1f%%\n", correlation, count, 100.0 * mean / rounds,
                        100.0 * shown / rounds, 100.0 * p90 / std::max(shown, 1));
        }
    }
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    using namespace perfleet;
    int rounds = 400;
    if (argc == 3 && std::strcmp(argv[1], "--rounds") == 0) {
        rounds = std::atoi(argv[2]);
    } else if (argc >= 2 && std::strcmp(argv[1], "--coverage") == 0) {
        print_coverage(argc == 3 ? std::atoi(argv[2]) : 2'000);
        return 0;
    } else if (argc != 1) {
        std::fprintf(stderr, "usage: verdicts [--rounds N]\n");
        return 2;
    }
    constexpr std::size_t kValues = 300;  // of a run: their mean adds 1.15 % to the 3 % by which runs differ
    constexpr std::size_t kManyValues = 3'000;
    constexpr std::uint64_t kSamples = 5'000;
    std::printf("runs a side  change   latencies   profiles   (verdicts in %d comparisons)\n", rounds);
    for (const auto& [run_count, percent] : {std::pair{2, 0}, {4, 0}, {8, 0}, {16, 0}, {8, 5}, {8, 10}, {16, 5}}) {
        RandomStream random{static_cast<std::uint64_t>(100 * run_count + percent)};
        int latencies = 0;
        int profiles = 0;
        for (int round = 0; round < rounds; ++round) {
            const auto runs = static_cast<std::size_t>(run_count);
            const long double change = percent / 100.0L;
            latencies += is_latency_change_shown(runs, kValues, change, random) ? 1 : 0;
            profiles += is_profile_change_shown(runs, kSamples, change, random) ? 1 : 0;
        }
        std::printf("%11d  %5d%%  %9.1f%%  %8.1f%%\n", run_count, percent, 100.0 * latencies / rounds,
                    100.0 * profiles / rounds);
    }
    RandomStream of_many{805};
    int many = 0;
    for (int round = 0; round < rounds; ++round) {
        many += is_latency_change_shown(8, kManyValues, 0.05L, of_many) ? 1 : 0;
    }
    std::printf("%11d  %5d%%  %9.1f%%  of 3,000 values a run\n", 8, 5, 100.0 * many / rounds);
    std::printf("\ncorrelation  values   --within-run: no change   change of 1 %%\n");
    for (const long double correlation : {0.0L, 0.5L, 0.9L}) {
        for (const std::size_t count : {100U, 300U, 3'000U}) {
            RandomStream random{count + static_cast<std::uint64_t>(correlation * 10)};
            int equal = 0;
            int changed = 0;
            for (int round = 0; round < rounds; ++round) {
                equal += is_change_within_run_shown(count, correlation, 0, random) ? 1 : 0;
                changed += is_change_within_run_shown(count, correlation, 0.01L, random) ? 1 : 0;
            }
            std::printf("%11.1Lf  %6zu  %22.1f%%  %14.1f%%\n", correlation, count, 100.0 * equal / rounds,
                        100.0 * changed / rounds);
        }
    }
    std::printf("\nmeans of          values   Student's t held   latency's held\n");
    const auto print_skewed = [&](const char* name, long double mean, auto draw) {
        for (const std::size_t count : {5U, 10U, 20U, 30U}) {
            RandomStream random{count};
            int student = 0;
            int skewed = 0;
            for (int round = 0; round < rounds; ++round) {
                const SkewedCoverage coverage = skewed_coverage(count, draw, mean, random);
                student += coverage.student ? 1 : 0;
                skewed += coverage.skewed ? 1 : 0;
            }
            std::printf("%-16s  %6zu  %16.1f%%  %14.1f%%\n", name, count, 100.0 * student / rounds,
                        100.0 * skewed / rounds);
        }
    };
    print_skewed("exponential", 1e6L, exponential);
    print_skewed("lognormal", 1e6L * std::exp(0.5L), lognormal);
    print_skewed("normal", 1e6L, [](RandomStream& random) { return 1e6L + 1e5L * normal(random); });
    return 0;
}
