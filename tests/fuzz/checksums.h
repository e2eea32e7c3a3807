// Makes the checksums of a fuzzer's block right, so that it gets past them.
#pragma once

#include <string>

#include "schemas/columns/crc32c.h"
#include "storage/block/layout.h"
#include "storage/model/little_endian.h"

namespace perfleet {

inline void put_u32(std::string& bytes, std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) {
        bytes[at + i] = static_cast<char>(value >> (8 * i));
    }
}

inline std::uint32_t checksum_of(const std::string& bytes, std::size_t from, std::size_t to, std::uint32_t crc = 0) {
    return crc32c(crc, std::as_bytes(std::span{bytes}).subspan(from, to - from));
}

inline void put_block_checksums_right(std::string& bytes) {
    namespace layout = block_layout;
    if (bytes.size() < layout::kHeaderSizeBytes) {
        return;
    }
    const std::size_t column_count = static_cast<std::uint8_t>(bytes[layout::ColumnCount::kOffset]);
    const std::size_t directory_end = layout::kHeaderSizeBytes + column_count * layout::kEntrySizeBytes;
    if (bytes.size() < directory_end) {
        return;
    }
    std::size_t at = directory_end;
    for (std::size_t entry = layout::kHeaderSizeBytes; entry < directory_end; entry += layout::kEntrySizeBytes) {
        const auto size = load_little_endian<std::uint32_t>(bytes.data() + entry + layout::EntrySize::kOffset);
        if (size > bytes.size() - at) {
            break;
        }
        put_u32(bytes, entry + layout::EntryCrc::kOffset, checksum_of(bytes, at, at + size));
        at += size;
    }
    const std::uint32_t crc = checksum_of(bytes, 0, layout::HeaderCrc::kOffset);
    put_u32(bytes, layout::HeaderCrc::kOffset, checksum_of(bytes, layout::kHeaderSizeBytes, directory_end, crc));
}

// Records end with the checksum of the bytes before it.
inline void put_record_checksum_right(std::string& bytes) {
    if (bytes.size() >= 4) {
        put_u32(bytes, bytes.size() - 4, checksum_of(bytes, 0, bytes.size() - 4));
    }
}

}  // namespace perfleet
