// Records as bytes: a version byte, the fields, a CRC-32C. The same on every engine.
//
// Byte layout, golden bytes and versions: storage/FORMAT.md. Decoders take untrusted bytes. Errors: kTruncated,
// kCorrupt (checksum), kUnsupported (another version, named), kTooLarge, kInvalid.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/limits/store_limits.h"
#include "storage/model/batch.h"
#include "storage/model/image.h"
#include "storage/model/session.h"

namespace perfleet {

// A batch that is known but whose rows aren't stored: they expired.
struct ExpiredBatch {
    std::uint32_t seal = 0;
    std::vector<std::pair<Series, std::uint64_t>> rows;  // counted here; empty when they were counted by drop()

    friend bool operator==(const ExpiredBatch&, const ExpiredBatch&) = default;
};

[[nodiscard]] std::string encode_record(const SessionRecord& session);
[[nodiscard]] std::string encode_record(const SessionEnd& end);
[[nodiscard]] std::string encode_record(const ExpiredBatch& batch);
[[nodiscard]] std::string encode_record(const ImageContent& image);
[[nodiscard]] std::string encode_record(const SessionNote& note);
// Watermarks, counts of rows, the store's format version, and 0 where the key says it all.
[[nodiscard]] std::string encode_record(std::uint64_t number);

[[nodiscard]] Result<SessionRecord> decode_session_untrusted(std::string_view bytes);
[[nodiscard]] Result<SessionEnd> decode_session_end_untrusted(std::string_view bytes);

// One batch as it was put. Seq and bucket stand in the key, not in the bytes.
[[nodiscard]] std::string encode_record(const BatchRecord& batch);
// Batch records of one session and one bucket, one after the other: ascending by seq, at least one, at most
// limits::kCompactedBatchesMax. The greatest seq stands in the key, the bucket, too.
[[nodiscard]] std::string encode_batch_list(std::span<const BatchRecord> batches);
// The records of a list, or the one as it was put.
[[nodiscard]] Result<std::vector<BatchRecord>> decode_batches_untrusted(std::string_view bytes, Seq last_seq,
                                                                        BucketNumber bucket);
// Whether it claims to be a list; the rest is unchecked.
[[nodiscard]] bool is_batch_list_untrusted(std::string_view bytes);
[[nodiscard]] Result<ExpiredBatch> decode_expired_batch_untrusted(std::string_view bytes);
[[nodiscard]] Result<ImageContent> decode_image_untrusted(std::string_view bytes);
[[nodiscard]] Result<SessionNote> decode_session_note_untrusted(std::string_view bytes);
[[nodiscard]] Result<std::uint64_t> decode_number_untrusted(std::string_view bytes);

}  // namespace perfleet
