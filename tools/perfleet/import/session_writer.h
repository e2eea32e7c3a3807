// One session on its way from a file into a store: its batches and its end, admitted as if they had come over a wire.
//
// Durable after sync(), and at every kSyncBatches batches. What is there already is counted and left as it is.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "gateway/admission/admit_batch.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "storage/store/store.h"

namespace perfleet {

struct StoredSession {
    SessionId session;
    std::string target_name;
    std::uint64_t row_count = 0;        // of batches that weren't there, definitions left out
    std::uint64_t batches_stored = 0;   // of which
    std::uint64_t batches_there = 0;    // that were there before
    std::uint64_t batches_expired = 0;  // of hours that the store has dropped
    bool has_end = false;               // the collector has said Bye
};

class SessionWriter {
public:
    // `store` is borrowed. `conflict_hint` follows the message of a batch that is there with other content.
    SessionWriter(SessionRecord record, UtcNs now, Store& store, std::string conflict_hint);

    [[nodiscard]] const SessionRecord& record() const { return record_; }
    [[nodiscard]] const StoredSession& stored() const { return stored_; }

    // Errors: kInvalid, kCorrupt … (what admission refuses), kConflict, those of the store.
    [[nodiscard]] Result<Done> put(const BatchUntrusted& batch);
    [[nodiscard]] Result<Done> end(const ByeUntrusted& bye);

    // Batches come in the order of seq: what is missing below the last was dropped by the collector.
    [[nodiscard]] Result<Done> sync();

private:
    [[nodiscard]] Result<Done> count(PutOutcome outcome, const BatchUntrusted& batch);

    SessionRecord record_;
    UtcNs now_;
    Store& store_;
    std::string conflict_hint_;
    BatchAdmission admission_;
    std::set<Partition> defined_;
    Seq last_seq_;
    std::uint64_t batches_ = 0;
    StoredSession stored_;
};

}  // namespace perfleet
