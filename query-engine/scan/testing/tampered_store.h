// A store that changes blocks on their way, for tests of queries on damaged data. Not for programs.
//
// Borrows the store. Threads: as the store, if the tampering may be called by many.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "storage/read/testing/forwarding_reader.h"

namespace perfleet {

class TamperedStore : public ForwardingReader {
public:
    // The block's bytes as a reader sees them; none: it is gone.
    using Tampering = std::function<std::optional<std::string>(Series, Seq first_seq, std::string_view block)>;

    TamperedStore(const StoreReader& store, Tampering tampering)
        : ForwardingReader{store}, tampering_{std::move(tampering)} {}

    BlockCursor blocks(const Partition& partition, TargetId target, SessionId session, Series series) const override {
        return BlockCursor{[this, cursor = ForwardingReader::blocks(partition, target, session, series),
                            tampered = std::optional<std::string>{}](Seq first) mutable -> Result<BlockStep> {
            cursor.seek(first);
            for (;;) {
                Result<BlockStep> step = cursor.next();
                if (!step.ok() || step->step != CursorStep::kItem) {
                    return step;
                }
                tampered = tampering_(step->key.series, step->key.first_seq, step->value);
                if (tampered) {
                    step->value = *tampered;
                    return step;
                }
            }
        }};
    }

private:
    Tampering tampering_;
};

// Gives each summary with a bit turned over.
[[nodiscard]] inline SummaryCursor with_bit_turned(SummaryCursor cursor) {
    return SummaryCursor{[cursor = std::move(cursor), damaged = std::string{}](Seq first) mutable {
        cursor.seek(first);
        Result<SummaryStep> step = cursor.next();
        if (step.ok() && step->step == CursorStep::kItem) {
            damaged = step->value;
            damaged[damaged.size() / 2] ^= 1;
            step->value = damaged;
        }
        return step;
    }};
}

}  // namespace perfleet
