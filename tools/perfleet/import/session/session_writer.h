// One session that this process makes itself, on its way to where it is kept: a store of this process
// (stored_session_writer.h), or a gateway (../../session_destination.h). What is there already is counted and left as
// it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "storage/model/session.h"
#include "storage/store/store.h"
#include "target-collector/message/sealer.h"

namespace perfleet {

struct StoredSession {
    SessionId session;
    std::string target_name;
    std::uint64_t row_count = 0;        // of batches that weren't there, definitions left out
    std::uint64_t batches_stored = 0;   // of which
    std::uint64_t batches_there = 0;    // that were there before
    std::uint64_t batches_expired = 0;  // of hours that the store has dropped
    bool has_end = false;               // the collector has said Bye

    [[nodiscard]] bool was_there() const { return batches_stored == 0 && batches_there > 0; }
};

class SessionWriter {
public:
    SessionWriter(const SessionWriter&) = delete;
    SessionWriter& operator=(const SessionWriter&) = delete;
    virtual ~SessionWriter() = default;

    [[nodiscard]] const SessionRecord& record() const { return record_; }
    [[nodiscard]] const StoredSession& stored() const { return stored_; }

    // A batch as a Sealer passes it on, in the order of seq. Errors: what admission refuses (kInvalid, kCorrupt …),
    // kConflict (another batch of this number is there), those of the store; kUnavailable (a gateway that doesn't take
    // it).
    [[nodiscard]] virtual Result<Done> put(const SealedRecord& header, std::span<const std::byte> message) = 0;

    // Symbols of an image. Errors: those of the store.
    [[nodiscard]] virtual Result<Done> put_image(std::string_view build_id, ImageContent content) = 0;

    // Everything is durable when it returns. Errors: as of put().
    [[nodiscard]] virtual Result<Done> end(const SessionEnd& end) = 0;

protected:
    explicit SessionWriter(SessionRecord record) : record_{std::move(record)} {
        stored_.session = record_.session;
        stored_.target_name = record_.target_name;
    }

    SessionRecord record_;
    StoredSession stored_;
};

// Where sessions go.
class SessionDestination {
public:
    SessionDestination() = default;
    SessionDestination(const SessionDestination&) = delete;
    SessionDestination& operator=(const SessionDestination&) = delete;
    virtual ~SessionDestination() = default;

    // A session of batches up to the hour of `now`. The writer ends before this does.
    [[nodiscard]] virtual Result<std::unique_ptr<SessionWriter>> begin(SessionRecord record, UtcNs now) = 0;

    // Whether it is there to its end, as far as that is known before its first batch.
    [[nodiscard]] virtual Result<bool> has_ended(TargetId target, SessionId session) const = 0;
};

}  // namespace perfleet
