// Samples whose user call chain the kernel recorded later, when the thread returned to user mode (Linux 6.19). The
// chain has a record of its own, which several samples of the thread share.
//
//   sample:  … kernel frames | kUserDeferred | cookie
//   record:  cookie | number of frames | frames, the leaf first
//
// One thread. Memory: about kSizeBytesMax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "schemas/perf/perf_event.h"
#include "target-collector/records/record_layout.h"

namespace perfleet {

class DeferredChains {
public:
    static constexpr std::size_t kSizeBytesMax = 64U << 20;

    struct Sample {
        std::vector<std::byte> bytes;
        std::uint16_t misc = 0;

        [[nodiscard]] RecordBytes record() const {
            return {bytes, static_cast<std::uint32_t>(perf::RecordType::kSample), misc, 0};
        }
    };

    // The cookie at the end of a call chain whose user part comes later.
    [[nodiscard]] static std::optional<std::uint64_t> cookie_of(std::span<const std::uint64_t> callchain);

    // More is held than the limit allows.
    [[nodiscard]] bool is_full() const { return size_bytes_ > kSizeBytesMax; }
    void hold(const RecordBytes& record, std::uint32_t tid, std::uint64_t cookie);
    // Takes out the samples of the thread that wait for the chain, the oldest first.
    [[nodiscard]] std::vector<Sample> take(std::uint32_t tid, std::uint64_t cookie);
    // The samples that have waited longest; empty: none waits.
    [[nodiscard]] std::vector<Sample> take_oldest();

private:
    using Key = std::pair<std::uint32_t, std::uint64_t>;  // thread, cookie
    std::map<Key, std::vector<Sample>> samples_;
    std::deque<Key> order_;  // of arrival; some were taken since
    std::size_t size_bytes_ = 0;
};

}  // namespace perfleet
