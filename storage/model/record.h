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

#include "schemas/session/image_content.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/batch.h"
#include "storage/model/session_note.h"

namespace perfleet {

// A batch whose rows expired: known, but not stored.
struct ExpiredBatch {
    std::uint32_t seal = 0;
    std::vector<std::pair<Series, std::uint64_t>> rows;  // counted here; empty if drop() has counted them

    friend bool operator==(const ExpiredBatch&, const ExpiredBatch&) = default;
};

[[nodiscard]] std::string encode_record(const SessionRecord& session);
[[nodiscard]] std::string encode_record(const SessionEnd& end);
[[nodiscard]] std::string encode_record(const ExpiredBatch& batch);
[[nodiscard]] std::string encode_record(const ImageContent& image);
[[nodiscard]] std::string encode_record(const SessionNote& note);
// For watermarks, counts of rows and the store's format version; 0 if the key has everything.
[[nodiscard]] std::string encode_record(std::uint64_t number);

[[nodiscard]] Result<SessionRecord> decode_session_untrusted(std::string_view bytes);
[[nodiscard]] Result<SessionEnd> decode_session_end_untrusted(std::string_view bytes);

// One batch as it was put. Seq and bucket stand in the key, not in the bytes.
[[nodiscard]] std::string encode_record(const BatchRecord& batch);
// Batch records of one session and one bucket, ascending by seq: at least one, at most limits::kCompactedBatchesMax.
// The greatest seq and the bucket are in the key.
[[nodiscard]] std::string encode_batch_list(std::span<const BatchRecord> batches);
// Decodes a list of batch records, or a single one.
[[nodiscard]] Result<std::vector<BatchRecord>> decode_batches_untrusted(std::string_view bytes, Seq last_seq,
                                                                        BucketNumber bucket);
// Whether the bytes claim to be a list; nothing else is checked.
[[nodiscard]] bool is_batch_list_untrusted(std::string_view bytes);
[[nodiscard]] Result<ExpiredBatch> decode_expired_batch_untrusted(std::string_view bytes);
[[nodiscard]] Result<ImageContent> decode_image_untrusted(std::string_view bytes);
[[nodiscard]] Result<SessionNote> decode_session_note_untrusted(std::string_view bytes);
[[nodiscard]] Result<std::uint64_t> decode_number_untrusted(std::string_view bytes);

}  // namespace perfleet
