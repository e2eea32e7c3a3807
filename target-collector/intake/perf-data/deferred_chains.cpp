#include "target-collector/intake/perf-data/deferred_chains.h"

namespace perfleet {
namespace {

constexpr std::size_t kOverheadBytes = 256;  // of one sample, in all tables

}  // namespace

std::optional<std::uint64_t> DeferredChains::cookie_of(std::span<const std::uint64_t> callchain) {
    const std::size_t size = callchain.size();
    return size >= 2 && callchain[size - 2] == perf::context::kUserDeferred ? std::optional{callchain[size - 1]}
                                                                            : std::nullopt;
}

void DeferredChains::hold(const RecordBytes& record, std::uint32_t tid, std::uint64_t cookie) {
    std::vector<Sample>& waiting = samples_[{tid, cookie}];
    if (waiting.empty()) {
        order_.emplace_back(tid, cookie);
    }
    waiting.push_back({{record.bytes.begin(), record.bytes.end()}, record.misc});
    size_bytes_ += record.bytes.size() + kOverheadBytes;
}

std::vector<DeferredChains::Sample> DeferredChains::take(std::uint32_t tid, std::uint64_t cookie) {
    const auto found = samples_.find({tid, cookie});
    if (found == samples_.end()) {
        return {};
    }
    std::vector<Sample> taken = std::move(found->second);
    samples_.erase(found);
    for (const Sample& sample : taken) {
        size_bytes_ -= sample.bytes.size() + kOverheadBytes;
    }
    while (!order_.empty() && !samples_.contains(order_.front())) {
        order_.pop_front();
    }
    return taken;
}

std::vector<DeferredChains::Sample> DeferredChains::take_oldest() {
    return order_.empty() ? std::vector<Sample>{} : take(order_.front().first, order_.front().second);
}

}  // namespace perfleet
