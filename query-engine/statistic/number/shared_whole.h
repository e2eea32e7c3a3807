// Divides totals measured of several members together: each moment has one total, and a weight for each member.
//
// A member's rate, its part of a total per unit of weight, is assumed equal at all moments. The rates are the
// maximum-likelihood estimates (Poisson), found by expectation maximisation from equal rates. So a member that mostly
// takes part in small totals gets little of large ones. Members that always take part together, in the same proportion,
// share by weight.
//
// Pure functions and plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace perfleet {

struct Participation {
    std::uint32_t moment = 0;
    std::uint32_t member = 0;
    std::uint64_t weight = 0;
};

inline constexpr unsigned kRateSteps = 64;

// Each participation's fraction of its moment's total; fractions of a moment add up to 1. `parts` ascend by moment; if
// all weights of a moment are 0 they count as equal.
[[nodiscard]] inline std::vector<double> fractions_of(std::span<const Participation> parts,
                                                      std::span<const std::uint64_t> wholes, std::size_t member_count) {
    std::vector<double> weights(parts.size());
    std::vector<double> exposures(member_count, 0);
    const auto end_of = [&](std::size_t first) {
        std::size_t end = first;
        while (end < parts.size() && parts[end].moment == parts[first].moment) {
            ++end;
        }
        return end;
    };
    for (std::size_t first = 0; first < parts.size();) {
        const std::size_t end = end_of(first);
        std::uint64_t any = 0;
        for (std::size_t i = first; i < end; ++i) {
            any |= parts[i].weight;
        }
        for (; first < end; ++first) {
            weights[first] = any == 0 ? 1 : static_cast<double>(parts[first].weight);
            exposures[parts[first].member] += weights[first];
        }
    }
    std::vector<double> rates(member_count, 1);
    std::vector<double> fractions(parts.size(), 0);
    for (unsigned step = 0; step < kRateSteps; ++step) {
        std::vector<double> sums(member_count, 0);
        for (std::size_t first = 0; first < parts.size();) {
            const std::size_t end = end_of(first);
            double expected = 0;
            double weight = 0;
            for (std::size_t i = first; i < end; ++i) {
                expected += rates[parts[i].member] * weights[i];
                weight += weights[i];
            }
            for (; first < end; ++first) {
                const Participation& part = parts[first];
                fractions[first] =
                    expected > 0 ? rates[part.member] * weights[first] / expected : weights[first] / weight;
                sums[part.member] += static_cast<double>(wholes[part.moment]) * fractions[first];
            }
        }
        for (std::size_t member = 0; member < member_count; ++member) {
            rates[member] = exposures[member] > 0 ? sums[member] / exposures[member] : 0;
        }
    }
    return fractions;
}

}  // namespace perfleet
