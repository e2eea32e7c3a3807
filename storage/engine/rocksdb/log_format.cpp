#include "storage/engine/rocksdb/log_format.h"

#include <span>

#include "schemas/columns/crc32c.h"
#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

constexpr std::size_t kGroupHeaderSizeBytes = 12;
constexpr char kLogDataTag = 3;  // marks bytes in a write batch that belong to no key
constexpr std::string_view kMarkName = "synced ";
constexpr std::size_t kMarkSizeBytes = kMarkName.size() + 2 * sizeof(std::uint64_t);

std::optional<SyncMark> mark_in(std::string_view content) {
    if (content.size() < 2 || content[0] != kLogDataTag) {
        return std::nullopt;
    }
    const auto size_bytes = std::size_t{static_cast<unsigned char>(content[1])};
    content.remove_prefix(2);
    if (size_bytes != kMarkSizeBytes || content.size() < size_bytes || !content.starts_with(kMarkName)) {
        return std::nullopt;
    }
    content.remove_prefix(kMarkName.size());
    return SyncMark{load_little_endian<std::uint64_t>(content.data()),
                    load_little_endian<std::uint64_t>(content.data() + sizeof(std::uint64_t))};
}

std::uint32_t masked_crc(std::string_view bytes) {
    const std::uint32_t crc = crc32c(0, std::as_bytes(std::span{bytes.data(), bytes.size()}));
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

}  // namespace

std::optional<LogRecord> log_record_in(std::string_view bytes) {
    if (bytes.size() < kLogHeaderSizeBytes) {
        return std::nullopt;
    }
    const std::size_t size = load_little_endian<std::uint16_t>(bytes.data() + 4);
    const auto type = static_cast<unsigned char>(bytes[6]);
    if (type < 1 || type > 4 || kLogHeaderSizeBytes + size > bytes.size() ||
        masked_crc(bytes.substr(6, size + 1)) != load_little_endian<std::uint32_t>(bytes.data())) {
        return std::nullopt;
    }
    return LogRecord{static_cast<Fragment>(type), bytes.substr(kLogHeaderSizeBytes, size)};
}

std::optional<ChangeGroup> change_group_in(std::string_view payload) {
    if (payload.size() < kGroupHeaderSizeBytes) {
        return std::nullopt;
    }
    return ChangeGroup{load_little_endian<std::uint64_t>(payload.data()),
                       load_little_endian<std::uint32_t>(payload.data() + 8),
                       mark_in(payload.substr(kGroupHeaderSizeBytes))};
}

std::string sync_mark(const SyncMark& mark) {
    std::string text{kMarkName};
    for (const std::uint64_t sequence : {mark.synced, mark.logged}) {
        for (unsigned i = 0; i < sizeof sequence; ++i) {
            text.push_back(static_cast<char>(sequence >> (8 * i) & 0xff));
        }
    }
    return text;
}

}  // namespace perfleet
