// Writing into a store: sealed batches, and what is known of their sessions. What ingest and imports stand on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/time.h"
#include "storage/model/batch.h"
#include "storage/model/image.h"
#include "storage/model/keys.h"
#include "storage/model/session.h"
#include "storage/read/reader.h"

namespace perfleet {

enum class PutOutcome : std::uint8_t {
    kStored,
    kDuplicate,  // the same key and seal was there: nothing written
    kConflict,   // the same key with another seal was there: nothing written
    kExpired,    // its partition was dropped by retention: counted, not stored
};

// One thread at a time; StoreMaintenance may run beside it.
//
// After an error of kFull, kIo or kUnavailable nothing since the last sync() counts: the caller does all of it again,
// also what had gone well, before the next sync(). The store goes on by itself with the next call, once the disk lets
// it.
class StoreWriter : public StoreReader {
public:
    // Makes the session known and readable from this partition; before the first put of its rows there. Idempotent;
    // told again with other words (labels, host) the last ones stay. In a dropped partition it only makes the session
    // known. Durable with the next sync(). Errors: kConflict when the session's clock or events are others than before.
    [[nodiscard]] virtual Result<Done> define(const Partition& partition, const SessionRecord& session) = 0;

    // Inserts each batch that is absent; all of one call or none. One outcome a batch, in order; a batch that repeats
    // an earlier one of the same call is judged against that one. A key is looked for in all partitions. What is at or
    // below the watermark is never stored: kConflict when another seal is still there, else kDuplicate; so is a batch
    // that expired before. Durable with the next sync(). Errors: kInvalid (session not defined in the partition), kFull
    // (limits::kStoreSeqsMax batches above the watermark: advance it first).
    [[nodiscard]] virtual Result<std::vector<PutOutcome>> put(const Partition& partition,
                                                              std::span<const AdmittedBatch> batches) = 0;

    // The retention class in which the session is defined in this bucket, or was when its rows there were dropped;
    // nothing where it never was. Whoever puts more rows of that bucket keeps to it, for an epoch lies in one
    // partition. At any time by any thread.
    [[nodiscard]] virtual Result<std::optional<std::uint8_t>> retention_class(TargetId target, SessionId session,
                                                                              BucketNumber bucket) const = 0;

    // Never lowers one; all or none. Each session once. Durable with the next sync().
    [[nodiscard]] virtual Result<Done> advance_watermarks(std::span<const SessionPrefix> prefixes) = 0;
    [[nodiscard]] Result<Done> advance_watermark(TargetId target, SessionId session, Seq prefix);

    // The first end that is told stays. Durable with the next sync().
    [[nodiscard]] virtual Result<Done> end_session(TargetId target, SessionId session, const SessionEnd& end) = 0;

    // Content of an image, whole; what is there already stays. Durable with the next sync().
    [[nodiscard]] virtual Result<Done> put_image(std::string_view build_id, const ImageContent& content) = 0;

    // When this returns Done, everything before it survives kill -9 and power loss.
    [[nodiscard]] virtual Result<Done> sync() = 0;
};

}  // namespace perfleet
