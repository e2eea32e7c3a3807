// The interface for writing into a store: sealed batches and their sessions. For ingest and imports.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/session/image_content.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "storage/model/batch.h"
#include "storage/model/keys.h"
#include "storage/model/session_note.h"
#include "storage/read/reader.h"

namespace perfleet {

enum class PutOutcome : std::uint8_t {
    kStored,
    kDuplicate,  // the same key and seal exist: nothing written
    kConflict,   // the same key exists with another seal: nothing written
    kExpired,    // its partition was dropped by retention: counted, not stored
};

// One thread at a time; StoreMaintenance may run beside it.
//
// After kFull, kIo or kUnavailable nothing since the last sync() counts: the caller must repeat all of it, including
// calls that had succeeded, before the next sync(). The store recovers by itself in the next call, as soon as the disk
// allows it.
class StoreWriter : public virtual StoreReader {
public:
    // Makes the session known and readable from this partition; call it before the first put of its rows there.
    // Idempotent; of other texts (labels, host) the latest are kept. In a dropped partition it only makes the session
    // known. Durable with the next sync(). Errors: kConflict (clock or events differ from before).
    [[nodiscard]] virtual Result<Done> define(const Partition& partition, const SessionRecord& session) = 0;

    // Inserts each batch that is absent; all of one call or none. Returns one outcome per batch, in order; a batch that
    // repeats an earlier one of the same call is compared with that one. Keys are searched in all partitions. A batch
    // at or below the watermark is never stored: kConflict if another seal is still stored, else kDuplicate; the same
    // for a batch that expired before. Durable with the next sync(). Errors: kInvalid (session not defined in the
    // partition), kFull (limits::kStoreSeqsMax batches above the watermark: advance it first).
    [[nodiscard]] virtual Result<std::vector<PutOutcome>> put(const Partition& partition,
                                                              std::span<const AdmittedBatch> batches) = 0;

    // The retention class in which the session is defined in this bucket, or was when its rows there were dropped;
    // nothing if it never was. Further rows of that bucket must use it, because an epoch lies in one partition. At any
    // time by any thread.
    [[nodiscard]] virtual Result<std::optional<std::uint8_t>> retention_class(TargetId target, SessionId session,
                                                                              BucketNumber bucket) const = 0;

    // Advances watermarks, never back; all or none. Each session at most once. Durable with the next sync().
    [[nodiscard]] virtual Result<Done> advance_watermarks(std::span<const SessionPrefix> prefixes) = 0;
    [[nodiscard]] Result<Done> advance_watermark(TargetId target, SessionId session, Seq prefix);

    // Stores the end of a session; the first one is kept. Durable with the next sync().
    [[nodiscard]] virtual Result<Done> end_session(TargetId target, SessionId session, const SessionEnd& end) = 0;

    // Stores an image's whole content; an existing one is kept. Durable with the next sync().
    [[nodiscard]] virtual Result<Done> put_image(std::string_view build_id, const ImageContent& content) = 0;

    // When this returns Done, all earlier changes survive kill -9 and power loss.
    [[nodiscard]] virtual Result<Done> sync() = 0;

    // Called before a writer closes: moves the log's contents to files that readers don't replay. Changes nothing that
    // readers read.
    [[nodiscard]] virtual Result<Done> write_out_log() = 0;
};

}  // namespace perfleet
