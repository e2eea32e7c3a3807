// The bytes of heads and index entries: README.md of this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

// The head of a segment or directory; every change writes a new one.
struct RadosHead {
    std::uint64_t lease = 0;        // of the holder that may write
    std::uint64_t write_count = 0;  // of changes
    std::uint64_t size_bytes = 0;   // of the body
    std::uint64_t key_count = 0;    // of the index; an upper bound
    std::uint64_t index_size_bytes = 0;

    friend bool operator==(const RadosHead&, const RadosHead&) = default;
};

[[nodiscard]] std::string encode_head(const RadosHead& head);
[[nodiscard]] std::optional<RadosHead> decode_head_untrusted(std::string_view bytes);

// An index entry of a key.
struct RadosEntry {
    enum class Type : std::uint8_t { kDeleted = 0, kInline = 1, kBody = 2 };  // stored: they must never change

    Type type{};
    std::uint64_t write_number = 0;  // the segment's write_count with the change that wrote it
    std::string_view value;          // kInline
    std::uint64_t offset = 0;        // kBody
    std::uint64_t size_bytes = 0;
};

[[nodiscard]] std::string encode_entry(const RadosEntry& entry);
[[nodiscard]] std::optional<RadosEntry> decode_entry_untrusted(std::string_view bytes);

}  // namespace perfleet
