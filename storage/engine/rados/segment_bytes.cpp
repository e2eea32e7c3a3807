#include "storage/engine/rados/segment_bytes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

constexpr std::size_t kNumberSize = sizeof(std::uint64_t);

}  // namespace

std::string encode_head(const RadosHead& head) {
    return fmt::format("{:x} {:x} {:x} {:x} {:x}", head.lease, head.write_count, head.size_bytes, head.key_count,
                       head.index_size_bytes);
}

std::optional<RadosHead> decode_head_untrusted(std::string_view bytes) {
    RadosHead head;
    const std::array numbers{&head.lease, &head.write_count, &head.size_bytes, &head.key_count, &head.index_size_bytes};
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i != 0 && (at == end || *at++ != ' ')) {
            return std::nullopt;
        }
        const auto [after, error] = std::from_chars(at, end, *numbers[i], 16);
        if (error != std::errc{}) {
            return std::nullopt;
        }
        at = after;
    }
    return at == end ? std::optional{head} : std::nullopt;
}

std::string encode_entry(const RadosEntry& entry) {
    std::string bytes;
    append_little_endian(bytes, entry.write_number);
    bytes.push_back(static_cast<char>(entry.type));
    if (entry.type == RadosEntry::Type::kInline) {
        bytes.append(entry.value);
    } else if (entry.type == RadosEntry::Type::kBody) {
        append_little_endian(bytes, entry.offset);
        append_little_endian(bytes, entry.size_bytes);
    }
    return bytes;
}

std::optional<RadosEntry> decode_entry_untrusted(std::string_view bytes) {
    if (bytes.size() <= kNumberSize) {
        return std::nullopt;
    }
    RadosEntry entry;
    entry.write_number = load_little_endian<std::uint64_t>(bytes.data());
    entry.type = static_cast<RadosEntry::Type>(bytes[kNumberSize]);
    const std::string_view rest = bytes.substr(kNumberSize + 1);
    switch (entry.type) {
        case RadosEntry::Type::kDeleted: return rest.empty() ? std::optional{entry} : std::nullopt;
        case RadosEntry::Type::kInline: entry.value = rest; return entry;
        case RadosEntry::Type::kBody:
            if (rest.size() != 2 * kNumberSize) {
                return std::nullopt;
            }
            entry.offset = load_little_endian<std::uint64_t>(rest.data());
            entry.size_bytes = load_little_endian<std::uint64_t>(rest.data() + kNumberSize);
            return entry;
    }
    return std::nullopt;
}

}  // namespace perfleet
