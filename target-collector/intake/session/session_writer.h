// Writes one session that this process makes. The importing program chooses the destination: a store of its own, or a
// gateway. Batches that are already stored are counted and left unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/session/image_content.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/sealer.h"

namespace perfleet {

struct StoredSession {
    SessionId session;
    std::string target_name;
    std::uint64_t row_count = 0;        // of new batches, without definitions
    std::uint64_t batches_stored = 0;   // new ones
    std::uint64_t batches_there = 0;    // already stored before
    std::uint64_t batches_expired = 0;  // of hours that the store has dropped
    bool has_end = false;               // the collector has closed the session

    [[nodiscard]] bool was_there() const { return batches_stored == 0 && batches_there > 0; }
};

class SessionWriter : NonCopyable {
public:
    virtual ~SessionWriter() = default;

    [[nodiscard]] const SessionRecord& record() const { return record_; }
    [[nodiscard]] const StoredSession& stored() const { return stored_; }

    // Writes a batch from a Sealer, in the order of seq. Errors: those of admission (kInvalid, kCorrupt …), kConflict
    // (another batch of this number is stored), those of the store; kUnavailable (a gateway doesn't take it).
    [[nodiscard]] virtual Result<Done> put(const SealedRecord& header, std::span<const std::byte> message) = 0;

    // Writes the symbols of an image. Errors: those of the store.
    [[nodiscard]] virtual Result<Done> put_image(std::string_view build_id, ImageContent content) = 0;

    // Everything that was put is durable when it returns. Errors: those of put().
    [[nodiscard]] virtual Result<Done> sync() = 0;

    // Ends the session; as sync(). Errors: those of put().
    [[nodiscard]] virtual Result<Done> end(const SessionEnd& end) = 0;

protected:
    explicit SessionWriter(SessionRecord record) : record_{std::move(record)} {
        stored_.session = record_.session;
        stored_.target_name = record_.target_name;
    }

    SessionRecord record_;
    StoredSession stored_;
};

// The place where sessions are written.
class SessionDestination : NonCopyable {
public:
    virtual ~SessionDestination() = default;

    // Begins a session with batches up to the hour of `now`. The writer must be destroyed before this object.
    [[nodiscard]] virtual Result<std::unique_ptr<SessionWriter>> begin(SessionRecord record, UtcNs now) = 0;

    // From now on a session needn't be durable when it ends, only when sync() returns: for many short ones.
    // Destinations that don't defer it return Done.
    virtual void defer_sync() {}
    [[nodiscard]] virtual Result<Done> sync() { return Done{}; }

    // Whether the whole session is stored, as far as that is known before its first batch.
    [[nodiscard]] virtual Result<bool> has_ended(TargetId target, SessionId session) const = 0;
};

}  // namespace perfleet
