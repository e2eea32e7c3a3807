// Writes sessions into a store of this process: batches and ends are admitted as if they had come over a wire. Durable
// after every kSyncBatches batches.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "gateway/admission/admit_batch.h"
#include "gateway/admission/decode.h"
#include "storage/store/store.h"
#include "target-collector/intake/session/session_writer.h"

namespace perfleet {

// The partition of a batch: its hour's; or its epoch's, so that old epochs can be dropped one by one.
enum class BatchPlacement : std::uint8_t { kByHour, kByEpoch };

class StoredSessionWriter final : public SessionWriter {
public:
    // Borrows `store`. `conflict_hint` follows the error message if the store has another batch of that number.
    StoredSessionWriter(SessionRecord record, UtcNs now, Store& store, std::string conflict_hint,
                        BatchPlacement placement = BatchPlacement::kByHour);

    [[nodiscard]] Result<Done> put(const SealedRecord& header, std::span<const std::byte> message) override;
    [[nodiscard]] Result<Done> put_image(std::string_view build_id, ImageContent content) override;
    [[nodiscard]] Result<Done> sync() override;
    [[nodiscard]] Result<Done> end(const SessionEnd& end) override;

    // Like put() above, for decoded messages. Batches come in the order of seq: those missing below the last one were
    // dropped by the collector. Durable after sync().
    [[nodiscard]] Result<Done> put(const BatchUntrusted& batch_untrusted);
    [[nodiscard]] Result<Done> end(const ByeUntrusted& bye);
    // end() of a whole session doesn't wait for the disk.
    void defer_sync() { is_sync_deferred_ = true; }

private:
    [[nodiscard]] Result<Done> count(PutOutcome outcome, const BatchUntrusted& batch);

    UtcNs now_;
    Store& store_;
    std::string conflict_hint_;
    BatchPlacement placement_;
    Decoder decoder_;
    BatchAdmission admission_;
    std::set<Partition> defined_;
    Seq last_seq_;
    std::uint64_t batches_ = 0;
    bool is_sync_deferred_ = false;
};

class StoreDestination final : public SessionDestination {
public:
    // Borrows `store`.
    explicit StoreDestination(Store& store) : store_{store} {}

    [[nodiscard]] Result<std::unique_ptr<SessionWriter>> begin(SessionRecord record, UtcNs now) override;
    [[nodiscard]] Result<bool> has_ended(TargetId target, SessionId session) const override;
    void defer_sync() override { is_sync_deferred_ = true; }
    [[nodiscard]] Result<Done> sync() override { return store_.sync(); }

private:
    Store& store_;
    bool is_sync_deferred_ = false;
};

}  // namespace perfleet
