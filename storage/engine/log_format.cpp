#include "storage/engine/log_format.h"

#include <span>

#include "schemas/columns/crc32c.h"
#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

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

}  // namespace perfleet
