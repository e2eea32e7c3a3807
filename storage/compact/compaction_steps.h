// Writes and reports the steps of a maker that works beside the writer (compaction, summaries, dictionaries), and
// remembers why the work ended. A step isn't written if its input may have changed.
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
    // Writes the changes of one step. False if their input may have changed: then the work ends.
    using Commit = std::function<Result<bool>(const Changes& changes)>;
    using OnStep = std::function<Visit(const CompactionStep&)>;

    enum class Outcome : std::uint8_t {
        kDone,
        kLeftover,   // done, but batches above their session's watermark are left
        kStopped,    // by on_step
        kOvertaken,  // the writer may have changed the input
    };

    CompactionSteps(Commit commit, OnStep on_step) : commit_{std::move(commit)}, on_step_{std::move(on_step)} {}

    // write() and report() return false when the work ends. `size_bytes`: the field that counts the keys and values
    // put.
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

    // Why the work ended.
    [[nodiscard]] Outcome ended() const { return ended_; }

private:
    Commit commit_;
    OnStep on_step_;
    Outcome ended_ = Outcome::kDone;
};

}  // namespace perfleet
