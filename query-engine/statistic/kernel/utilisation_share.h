// Shares of a utilisation window, and the known faults of the counters behind them.
//
// Pure functions. Cycles as the kernel counted them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/number/wide_integer.h"

namespace perfleet {

// A counter that went below 0 (on several cores a thread may be charged before it starts) looks like a huge number:
// never to be summed.
[[nodiscard]] constexpr bool is_underflow(std::uint64_t cycles) { return cycles >= 1ULL << 63; }

// A counter that was printed in 32 bits: one below 0 is given the bits that it lacks. None that could be below 0 is
// taken for one while it fits the total.
[[nodiscard]] constexpr std::uint64_t widened(std::uint64_t printed, std::uint64_t total) {
    constexpr std::uint64_t kSign = 1ULL << 31;
    return printed >> 32 == 0 && printed >= kSign && printed > total ? printed | ~0ULL << 32 : printed;
}

struct UtilisationShares {
    std::vector<std::optional<long double>> threads;  // of the total, in their order; nothing for an underflow
    std::optional<long double> rest;  // the total's part that no thread has; nothing when they have more
    bool adds_up = false;             // the threads' cycles are the total's, exactly
    bool has_underflow = false;
    bool has_too_much = false;  // a thread, or all together, have more than the total
    bool has_wrapped = false;   // the total lacks a multiple of 2^32, exactly: it was counted or printed in 32 bits
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
    shares.has_wrapped = !shares.has_underflow && sum > total && total >> 32 == 0 && (sum - total) % (1ULL << 32) == 0;
    shares.adds_up = !shares.has_underflow && sum == total;
    if (!shares.has_underflow && !shares.has_too_much && total != 0) {
        shares.rest =
            static_cast<long double>(total - static_cast<std::uint64_t>(sum)) / static_cast<long double>(total);
    }
    return shares;
}

}  // namespace perfleet
