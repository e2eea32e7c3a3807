#include "schemas/zmtp/frame.h"

#include <strings.h>

#include <algorithm>

namespace perfleet::zmtp {
namespace {

constexpr std::size_t kSignatureSizeBytes = 10;
constexpr std::size_t kMajorAt = 10;
constexpr std::size_t kMechanismAt = 12;
constexpr std::size_t kMechanismSizeBytes = 20;
constexpr std::byte kMajor{3};
constexpr std::byte kMinor{1};

std::string_view name_of(Mechanism mechanism) { return mechanism == Mechanism::kCurve ? "CURVE" : "NULL"; }

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint64_t read_big_endian(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    for (const std::byte byte : bytes) {
        value = value << 8U | std::to_integer<std::uint64_t>(byte);
    }
    return value;
}

void append_big_endian(std::string& out, std::uint64_t value, unsigned size_bytes) {
    for (unsigned i = size_bytes; i > 0; --i) {
        out += static_cast<char>(value >> (8U * (i - 1)) & 0xffU);
    }
}

}  // namespace

std::array<std::byte, kGreetingSizeBytes> greeting_of(Mechanism mechanism) {
    std::array<std::byte, kGreetingSizeBytes> greeting{};
    greeting[0] = std::byte{0xff};
    greeting[kSignatureSizeBytes - 1] = std::byte{0x7f};
    greeting[kMajorAt] = kMajor;
    greeting[kMajorAt + 1] = kMinor;
    const auto name = std::as_bytes(std::span{name_of(mechanism)});
    std::copy(name.begin(), name.end(), greeting.begin() + kMechanismAt);
    greeting[kMechanismAt + kMechanismSizeBytes] = std::byte{mechanism == Mechanism::kCurve};
    return greeting;
}

GreetingFault check_greeting(std::span<const std::byte> bytes, Mechanism mechanism) {
    if (!bytes.empty() && bytes[0] != std::byte{0xff}) {
        return GreetingFault::kNotZmtp3;
    }
    // All versions with greetings set bit 0 of the signature's last byte.
    if (bytes.size() >= kSignatureSizeBytes && (bytes[kSignatureSizeBytes - 1] & std::byte{1}) == std::byte{0}) {
        return GreetingFault::kNotZmtp3;
    }
    if (bytes.size() > kMajorAt && bytes[kMajorAt] < kMajor) {
        return GreetingFault::kNotZmtp3;
    }
    if (bytes.size() >= kMechanismAt + kMechanismSizeBytes) {
        std::array<std::byte, kMechanismSizeBytes> wanted{};
        const auto name = std::as_bytes(std::span{name_of(mechanism)});
        std::copy(name.begin(), name.end(), wanted.begin());
        if (!std::equal(wanted.begin(), wanted.end(), bytes.begin() + kMechanismAt)) {
            return GreetingFault::kOtherMechanism;
        }
    }
    return GreetingFault::kNone;
}

std::optional<FrameHeader> read_frame_header(std::span<const std::byte> bytes) {
    if (bytes.size() < 2) {
        return std::nullopt;
    }
    FrameHeader header;
    header.flags = std::to_integer<std::uint8_t>(bytes[0]);
    const std::size_t size_of_size = header.has(kLong) ? 8 : 1;
    header.header_size_bytes = 1 + size_of_size;
    if (bytes.size() < header.header_size_bytes) {
        return std::nullopt;
    }
    header.body_size_bytes = read_big_endian(bytes.subspan(1, size_of_size));
    return header;
}

void append_frame_header(std::string& out, std::uint8_t flags, std::uint64_t body_size_bytes) {
    const bool is_long = body_size_bytes > 0xff;
    out += static_cast<char>(flags | (is_long ? kLong : 0));
    append_big_endian(out, body_size_bytes, is_long ? 8 : 1);
}

std::optional<Command> read_command(std::span<const std::byte> body) {
    if (body.empty()) {
        return std::nullopt;
    }
    const auto name_size = std::to_integer<std::size_t>(body[0]);
    if (name_size == 0 || body.size() < 1 + name_size) {
        return std::nullopt;
    }
    return Command{text_of(body.subspan(1, name_size)), body.subspan(1 + name_size)};
}

void append_command(std::string& out, std::string_view name, std::span<const std::byte> data) {
    append_frame_header(out, kCommand, 1 + name.size() + data.size());
    out += static_cast<char>(name.size());
    out += name;
    out += text_of(data);
}

std::optional<std::string_view> find_property(std::span<const std::byte> properties, std::string_view name) {
    constexpr std::size_t kSizeOfSize = 4;
    std::optional<std::string_view> found;
    while (!properties.empty()) {
        const auto name_size = std::to_integer<std::size_t>(properties[0]);
        if (properties.size() < 1 + name_size + kSizeOfSize) {
            return std::nullopt;
        }
        const std::string_view this_name = text_of(properties.subspan(1, name_size));
        const std::uint64_t value_size = read_big_endian(properties.subspan(1 + name_size, kSizeOfSize));
        properties = properties.subspan(1 + name_size + kSizeOfSize);
        if (value_size > properties.size()) {
            return std::nullopt;
        }
        if (this_name.size() == name.size() && ::strncasecmp(this_name.data(), name.data(), name.size()) == 0) {
            found = text_of(properties.first(value_size));
        }
        properties = properties.subspan(value_size);
    }
    return found;
}

std::string properties_of(std::string_view socket_type) {
    constexpr std::string_view kName = "Socket-Type";
    std::string properties{static_cast<char>(kName.size())};
    properties += kName;
    append_big_endian(properties, socket_type.size(), 4);
    properties += socket_type;
    return properties;
}

}  // namespace perfleet::zmtp
