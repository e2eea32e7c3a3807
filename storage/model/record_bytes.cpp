#include "storage/model/record_bytes.h"

#include "schemas/columns/codec.h"
#include "schemas/columns/crc32c.h"
#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

constexpr std::size_t kChecksumSizeBytes = 4;

std::uint32_t checksum(std::string_view bytes) {
    return crc32c(0, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

}  // namespace

RecordWriter::RecordWriter() { fixed_u8(kRecordVersion); }

void RecordWriter::fixed_u8(std::uint8_t value) { append_little_endian(bytes_, value); }

void RecordWriter::fixed_u32(std::uint32_t value) { append_little_endian(bytes_, value); }

void RecordWriter::varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
        fixed_u8(static_cast<std::uint8_t>(value | 0x80));
    }
    fixed_u8(static_cast<std::uint8_t>(value));
}

void RecordWriter::signed_varint(std::int64_t value) {
    const auto raw = static_cast<std::uint64_t>(value);
    varint((raw << 1) ^ (0 - (raw >> 63)));
}

void RecordWriter::text(std::string_view value) {
    varint(value.size());
    bytes_.append(value);
}

void RecordWriter::column(std::span<const std::uint64_t> values) {
    if (values.empty()) {
        return;
    }
    std::vector<std::byte> bytes(encoded_size_bytes_max(values.size()));
    const auto encoded = encode_integers(values, bytes);
    PERFLEET_ASSERT(encoded.ok());
    fixed_u8(static_cast<std::uint8_t>(encoded->codec));
    text({reinterpret_cast<const char*>(bytes.data()), encoded->size_bytes});
}

std::string RecordWriter::finish() {
    fixed_u32(checksum(bytes_));
    return std::move(bytes_);
}

RecordReader::RecordReader(std::string_view bytes_untrusted, std::string_view what)
    : what_{what}, all_{bytes_untrusted} {
    if (all_.size() < 1 + kChecksumSizeBytes) {
        fail(ErrorCode::kTruncated, "has " + std::to_string(all_.size()) + " bytes");
        return;
    }
    const std::string_view body = all_.substr(0, all_.size() - kChecksumSizeBytes);
    if (load_little_endian<std::uint32_t>(all_.data() + body.size()) != checksum(body)) {
        fail(ErrorCode::kCorrupt, "checksum doesn't match");
        return;
    }
    if (const auto version = load_little_endian<std::uint8_t>(all_.data()); version != kRecordVersion) {
        fail(ErrorCode::kUnsupported, "has format " + std::to_string(version) + "; this build reads format " +
                                          std::to_string(kRecordVersion) + " only");
        return;
    }
    rest_ = body.substr(1);
}

std::uint8_t RecordReader::fixed_u8() {
    if (rest_.empty()) {
        fail(ErrorCode::kTruncated, "ends early");
        return 0;
    }
    const auto value = load_little_endian<std::uint8_t>(rest_.data());
    rest_.remove_prefix(1);
    return value;
}

std::uint32_t RecordReader::fixed_u32() {
    if (rest_.size() < 4) {
        fail(ErrorCode::kTruncated, "ends early");
        return 0;
    }
    const auto value = load_little_endian<std::uint32_t>(rest_.data());
    rest_.remove_prefix(4);
    return value;
}

std::uint64_t RecordReader::varint(std::uint64_t max) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const std::uint8_t part = fixed_u8();
        if (shift == 63 && part > 1) {
            break;
        }
        value |= static_cast<std::uint64_t>(part & 0x7f) << shift;
        if ((part & 0x80) == 0) {
            if (value > max) {
                fail(ErrorCode::kInvalid, "value " + std::to_string(value) + " is greater than " + std::to_string(max));
                return 0;
            }
            return value;
        }
    }
    fail(ErrorCode::kInvalid, "a number that is too long");
    return 0;
}

std::int64_t RecordReader::signed_varint() {
    const std::uint64_t raw = varint();
    return static_cast<std::int64_t>((raw >> 1) ^ (0 - (raw & 1)));
}

std::string_view RecordReader::sized_bytes() {
    const auto size_bytes = static_cast<std::size_t>(varint(rest_.size()));
    if (size_bytes > rest_.size()) {  // the varint of the size used up some bytes
        fail(ErrorCode::kTruncated, "ends inside a text");
        return {};
    }
    const std::string_view value = rest_.substr(0, size_bytes);
    rest_.remove_prefix(size_bytes);
    return value;
}

std::string RecordReader::text() { return std::string{sized_bytes()}; }

std::vector<std::uint64_t> RecordReader::column(std::size_t row_count) {
    std::vector<std::uint64_t> values(row_count);
    if (row_count == 0 || failed_) {
        return values;
    }
    const auto codec = static_cast<Codec>(fixed_u8());
    const std::string_view bytes = sized_bytes();
    if (failed_) {
        return values;
    }
    if (const auto decoded = decode_integers(codec, std::as_bytes(std::span{bytes}), values); !decoded.ok()) {
        fail(decoded.error().code, error_from_fault(decoded.error(), "a column").message);
        values.assign(row_count, 0);
    }
    return values;
}

void RecordReader::fail(ErrorCode code, const std::string& what) {
    if (!failed_) {
        failed_ = true;
        const std::size_t offset = rest_.data() == nullptr ? 0 : static_cast<std::size_t>(rest_.data() - all_.data());
        error_ = Error{code, std::string{what_} + " at offset " + std::to_string(offset) + ": " + what};
    }
    rest_ = {};
}

Result<Done> RecordReader::end() {
    if (!failed_ && !rest_.empty()) {
        fail(ErrorCode::kInvalid, std::to_string(rest_.size()) + " bytes left over");
    }
    if (failed_) {
        return error_;
    }
    return Done{};
}

std::uint64_t RecordReader::sum_of(std::uint64_t a, std::uint64_t b) {
    if (b > ~0ULL - a) {
        fail(ErrorCode::kInvalid, "a sum beyond 64 bits");
    }
    return a + b;
}

}  // namespace perfleet
