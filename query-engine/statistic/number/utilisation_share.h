// Shares of a utilisation window, and the known faults of the counters behind them.
//
// Pure functions. Cycles as the kernel counted them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/statistic/number/wide_integer.h"

namespace perfleet {

// A counter that went below 0 (on several cores a thread may be charged before it starts) looks like a huge number:
// never to be summed.
[[nodiscard]] constexpr bool is_underflow(std::uint64_t cycles) { return cycles >= 1ULL << 63; }

struct UtilisationShares {
    std::vector<std::optional<long double>> threads;  // of the total, in their order; nothing for an underflow
    std::optional<long double> rest;  // the total's part that no thread has; nothing when they have more
    bool adds_up = false;             // the threads' cycles are the total's, exactly
    bool has_underflow = false;
    bool has_too_much = false;  // a thread, or all together, have more than the total
};
// Idle is a thread like the others. A total of 0, or one that underflowed, has no shares.
[[nodiscard]] inline UtilisationShares utilisation_shares(std::span<const std::uint64_t> threads, std::uint64_t total) {
    UtilisationShares shares;
    shares.has_underflow = is_underflow(total);
    Uint128 sum = 0;
    for (const std::uint64_t cycles : threads) {
        if (is_underflow(cycles) || is_underflow(total) || total == 0) {
            shares.has_underflow = shares.has_underflow || is_underflow(cycles);
            shares.threads.emplace_back();
            continue;
        }
        sum += cycles;
        shares.has_too_much = shares.has_too_much || cycles > total;
        shares.threads.emplace_back(static_cast<long double>(cycles) / static_cast<long double>(total));
    }
    shares.has_too_much = shares.has_too_much || (!is_underflow(total) && sum > total);
    shares.adds_up = !shares.has_underflow && sum == total;
    if (!shares.has_underflow && !shares.has_too_much && total != 0) {
        shares.rest =
            static_cast<long double>(total - static_cast<std::uint64_t>(sum)) / static_cast<long double>(total);
    }
    return shares;
}

}  // namespace perfleet
