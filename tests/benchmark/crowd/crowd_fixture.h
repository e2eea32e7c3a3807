// Seals what simulated targets send: real batches, of samples with jittered times on eight processors and skewed
// stacks. The same target seals the same rows in every run of one hour. The program ends when memory or space runs out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <vector>

#include "target-collector/message/batch_builder.h"
#include "tests/benchmark/crowd/plan.h"

namespace perfleet {

// The progress of a target.
struct Sealing {
    explicit Sealing(std::uint64_t target_number)
        : number{target_number}, random{static_cast<std::uint32_t>(target_number + 1)} {}

    std::uint64_t number;
    std::uint64_t sealed = 0;  // batches
    std::uint32_t stack_count = 0;
    std::uint64_t ticks = 1'000'000'000'000;
    std::minstd_rand random;
};

class CrowdFixture {
public:
    explicit CrowdFixture(const CrowdPlan& plan);

    [[nodiscard]] std::vector<std::byte> seal_next(Sealing& sealing);
    [[nodiscard]] std::vector<std::byte> hello(std::uint64_t number, Seq oldest_retained) const;
    [[nodiscard]] std::vector<std::byte> bye(const Sealing& sealing) const;

private:
    void append(Series series, std::uint64_t ticks, std::initializer_list<std::uint64_t> values,
                std::span<const std::span<const std::byte>> bytes = {});
    void define_image();
    void append_samples(Sealing& sealing);

    CrowdPlan plan_;
    UtcNs start_utc_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    std::vector<std::byte> message_;
    BatchBuilder builder_;
    std::vector<std::uint64_t> ranks_;  // of stacks, as often as they occur
};

}  // namespace perfleet
