// Which batches of a session are resolved: durable, or skipped without being stored.
//
// A prefix and, above it, at most limits::kOutOfOrderSeqsMax single seqs.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "schemas/vocabulary/ids.h"
#include "schemas/wire/delivery_limits.h"

namespace perfleet {

class SeqProgress {
public:
    explicit SeqProgress(Seq prefix = Seq{0}) : prefix_{prefix} {}

    // Everything up to here is resolved.
    [[nodiscard]] Seq prefix() const { return prefix_; }

    [[nodiscard]] bool is_resolved(Seq seq) const { return seq <= prefix_ || above_.contains(seq.value); }

    // Whether `seq` is too far above the prefix to be remembered. Seqs below `oldest` never come and take no space.
    [[nodiscard]] bool is_beyond(Seq seq, Seq oldest = Seq{0}) const {
        const std::uint64_t base = oldest.value > prefix_.value + 1 ? oldest.value - 1 : prefix_.value;
        return seq.value > base && seq.value - base > kAboveMax;
    }

    // The seal of a resolved batch above the prefix; nothing when it was resolved without being stored.
    [[nodiscard]] std::optional<std::uint32_t> seal_of(Seq seq) const {
        const auto found = above_.find(seq.value);
        return found == above_.end() ? std::nullopt : found->second;
    }

    // `seq` isn't beyond.
    void resolve(Seq seq, std::optional<std::uint32_t> seal) {
        if (seq > prefix_) {
            above_.emplace(seq.value, seal);
            join();
        }
    }

    // Resolves all seqs below `oldest`, which will never come. Returns how many of them weren't resolved before.
    std::uint64_t resolve_below(Seq oldest) {
        std::uint64_t skipped = 0;
        if (oldest.value > prefix_.value + 1) {
            const auto end = above_.lower_bound(oldest.value);
            skipped = oldest.value - 1 - prefix_.value - static_cast<std::uint64_t>(std::distance(above_.begin(), end));
            prefix_ = Seq{oldest.value - 1};
            above_.erase(above_.begin(), end);
        }
        join();
        return skipped;
    }

private:
    static constexpr std::uint64_t kAboveMax = limits::kOutOfOrderSeqsMax;

    void join() {
        while (!above_.empty() && above_.begin()->first == prefix_.value + 1) {
            prefix_ = Seq{prefix_.value + 1};
            above_.erase(above_.begin());
        }
    }

    Seq prefix_;
    std::map<std::uint64_t, std::optional<std::uint32_t>> above_;  // seal, when stored
};

}  // namespace perfleet
