// Describes the watched domains to a run and a collector, from the table: threads, each a process with the same number
// (the collector is 1, its children follow), their ELF files and stacks.
//
// Freestanding. The table is borrowed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/sel4/domain/domain_table.h"
#include "target-collector/small/small_target.h"
#include "target-collector/source/sel4/thread_sampler.h"

namespace perfleet::sel4 {

class WatchedDomains : NonCopyable {
public:
    static constexpr std::size_t kThreadsMax = DomainTable::kChildrenMax + 1;
    static_assert(kThreadsMax <= sel4::kThreadsMax);
    static constexpr std::string_view kOwnName = "perfleet";

    explicit WatchedDomains(const DomainTable& table);

    [[nodiscard]] std::uint32_t thread_count() const { return child_count_ + 1; }
    [[nodiscard]] std::span<const SmallThread> threads() const { return std::span{threads_}.first(thread_count()); }
    // Of the children.
    [[nodiscard]] std::span<const SmallImage> images() const { return std::span{images_}.first(child_count_); }
    [[nodiscard]] std::span<const SampledThread> sampled() const { return std::span{sampled_}.first(child_count_); }

private:
    std::uint32_t child_count_;
    std::array<SmallThread, kThreadsMax> threads_{};
    std::array<SmallImage, DomainTable::kChildrenMax> images_{};
    std::array<SampledThread, DomainTable::kChildrenMax> sampled_{};
};

}  // namespace perfleet::sel4
