// The steps of a maker that works behind the writer (compaction, summaries, dictionaries): each is written, unless
// what it was made from may have changed, and told; and why the work ends is remembered.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "storage/compact/compaction_step.h"
#include "storage/engine/engine.h"
#include "storage/model/visit.h"

namespace perfleet {

class CompactionSteps {
public:
    // Writes the changes of one step; false when what they were made from may have changed: then the work ends.
    using Commit = std::function<Result<bool>(const Changes& changes)>;
    using OnStep = std::function<Visit(const CompactionStep&)>;

    enum class Outcome : std::uint8_t {
        kDone,
        kLeftover,   // batches above their session's watermark wait
        kStopped,    // by on_step
        kOvertaken,  // by the writer
    };

    CompactionSteps(Commit commit, OnStep on_step) : commit_{std::move(commit)}, on_step_{std::move(on_step)} {}

    // Both are false when the work ends. `size_bytes`: where the keys and values that are put count.
    [[nodiscard]] Result<bool> write(const Changes& changes, CompactionStep step,
                                     std::uint64_t CompactionStep::*size_bytes) {
        for (const Changes::Put& put : changes.puts) {
            step.*size_bytes += put.key.size() + put.value.size();
        }
        auto written = PERFLEET_TRY(commit_(changes));
        if (!written) {
            ended_ = Outcome::kOvertaken;
            return false;
        }
        return report(step);
    }
    [[nodiscard]] bool report(const CompactionStep& step) {
        if (on_step_(step) == Visit::kStop) {
            ended_ = Outcome::kStopped;
            return false;
        }
        return true;
    }

    // Why.
    [[nodiscard]] Outcome ended() const { return ended_; }

private:
    Commit commit_;
    OnStep on_step_;
    Outcome ended_ = Outcome::kDone;
};

}  // namespace perfleet
