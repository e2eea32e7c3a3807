// Shares of a utilisation window, and detection of known faults of the kernel's counters.
//
// Pure functions. Values are cycles as the kernel counted them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/number/wide_integer.h"

namespace perfleet {

// Whether the counter fell below 0: on several cores a thread may be charged before it starts. It reads as a huge
// number and must not be summed.
[[nodiscard]] constexpr bool is_underflow(std::uint64_t cycles) { return cycles >= 1ULL << 63; }

// Sign-extends a negative counter that was printed in 32 bits. A value that fits the total is never taken for negative.
[[nodiscard]] constexpr std::uint64_t widened(std::uint64_t printed, std::uint64_t total) {
    constexpr std::uint64_t kSign = 1ULL << 31;
    return printed >> 32 == 0 && printed >= kSign && printed > total ? printed | ~0ULL << 32 : printed;
}

struct UtilisationShares {
    std::vector<std::optional<long double>> threads;  // of the total, in the threads' order; nothing for an underflow
    std::optional<long double> rest;  // fraction of the total that no thread has; nothing if the threads exceed it
    bool adds_up = false;             // the threads' cycles equal the total exactly
    bool has_underflow = false;
    bool has_too_much = false;  // a thread, or all together, exceed the total
    bool has_wrapped = false;   // the sum exceeds a 32-bit total by a multiple of 2^32: the total wrapped
};
// The idle thread counts as a thread. A total of 0, or one that underflowed, gives no shares.
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
