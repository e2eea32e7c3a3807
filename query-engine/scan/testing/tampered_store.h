// A store whose blocks go through somebody's hands, for tests of what queries make of damage. Not for programs.
//
// Borrows the store. Threads: as the store, if the tampering may be called by many.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "query-engine/scan/cancellable_store.h"

namespace perfleet {

class TamperedStore : public CancellableStore {
public:
    // The block's bytes as a reader sees them; none: it is gone.
    using Tampering = std::function<std::optional<std::string>(Series, Seq first_seq, std::string_view block)>;

    TamperedStore(const StoreReader& store, Tampering tampering)
        : CancellableStore{store, never_}, tampering_{std::move(tampering)} {}

    Result<Done> visit_blocks(
        const Partition& partition, TargetId target, SessionId session, Series series,
        const std::function<Visit(const BlockKey&, std::string_view block)>& visitor) const override {
        return CancellableStore::visit_blocks(
            partition, target, session, series, [&](const BlockKey& key, std::string_view block) {
                const std::optional<std::string> tampered = tampering_(series, key.first_seq, block);
                return tampered ? visitor(key, *tampered) : Visit::kContinue;
            });
    }

private:
    std::atomic<bool> never_ = false;
    Tampering tampering_;
};

}  // namespace perfleet
