// Records as bytes: a version byte, the fields, a CRC-32C. The same on every engine.
//
// Byte layout, golden bytes and versions: storage/FORMAT.md. Decoders take untrusted bytes. Errors: kTruncated,
// kCorrupt (checksum), kUnsupported (a newer version, named), kTooLarge, kInvalid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/store/batch.h"
#include "storage/store/store.h"

namespace perfleet {

inline constexpr std::uint8_t kRecordVersion = 1;

// A batch that is known but whose rows aren't stored: they expired.
struct ExpiredBatch {
    std::uint32_t seal = 0;
    std::vector<std::pair<Series, std::uint64_t>> rows;  // counted here; empty when they were counted by drop()

    friend bool operator==(const ExpiredBatch&, const ExpiredBatch&) = default;
};

[[nodiscard]] std::string encode_record(const SessionRecord& session);
[[nodiscard]] std::string encode_record(const SessionEnd& end);
// Seq and bucket stand in the key, not in the bytes.
[[nodiscard]] std::string encode_record(const BatchRecord& batch);
[[nodiscard]] std::string encode_record(const ExpiredBatch& batch);
[[nodiscard]] std::string encode_record(const ImageContent& image);
// Watermarks, counts of rows, the store's format version, and 0 where the key says it all.
[[nodiscard]] std::string encode_record(std::uint64_t number);

[[nodiscard]] Result<SessionRecord> decode_session_untrusted(std::string_view bytes);
[[nodiscard]] Result<SessionEnd> decode_session_end_untrusted(std::string_view bytes);
[[nodiscard]] Result<BatchRecord> decode_batch_untrusted(std::string_view bytes, Seq seq, BucketNumber bucket);
[[nodiscard]] Result<ExpiredBatch> decode_expired_batch_untrusted(std::string_view bytes);
[[nodiscard]] Result<ImageContent> decode_image_untrusted(std::string_view bytes);
[[nodiscard]] Result<std::uint64_t> decode_number_untrusted(std::string_view bytes);

}  // namespace perfleet
