#include "target-collector/wire/zmtp_layout.h"

#include <cstring>
#include <string_view>

#include "schemas/vocabulary/assert.h"

namespace perfleet::zmtp_layout {
namespace {

void append(ShortBytes& to, std::span<const std::byte> bytes) {
    PERFLEET_ASSERT(bytes.size() <= to.bytes.size() - to.size_bytes);
    if (!bytes.empty()) {
        std::memcpy(to.bytes.data() + to.size_bytes, bytes.data(), bytes.size());
    }
    to.size_bytes += bytes.size();
}

void append(ShortBytes& to, std::string_view text) { append(to, std::as_bytes(std::span{text})); }

void append_integer(ShortBytes& to, std::uint64_t value, std::size_t size_bytes) {
    for (std::size_t i = size_bytes; i > 0; --i) {
        const auto byte = static_cast<std::byte>(value >> (8 * (i - 1)));
        append(to, std::span{&byte, 1});
    }
}

// A size byte and a short text.
void append_name(ShortBytes& to, std::string_view name) {
    append_integer(to, name.size(), 1);
    append(to, name);
}

// Begins a command with data of this size.
ShortBytes begin_command(std::string_view name, std::size_t data_size_bytes) {
    ShortBytes command;
    append_integer(command, kCommand, 1);
    append_integer(command, 1 + name.size() + data_size_bytes, 1);
    append_name(command, name);
    return command;
}

}  // namespace

ShortBytes greeting(std::string_view mechanism) {
    ShortBytes greeting;
    greeting.size_bytes = kGreetingSizeBytes;
    greeting.bytes[0] = std::byte{kSignatureFirst};
    greeting.bytes[kSignatureSizeBytes - 1] = std::byte{kSignatureLast};
    greeting.bytes[kVersionOffset] = std::byte{kVersionMajor};
    greeting.bytes[kVersionOffset + 1] = std::byte{kVersionMinor};
    PERFLEET_ASSERT(mechanism.size() <= kMechanismSizeBytes);
    std::memcpy(greeting.bytes.data() + kMechanismOffset, mechanism.data(), mechanism.size());
    return greeting;
}

ShortBytes properties() {
    constexpr std::string_view kValue = "DEALER";
    ShortBytes properties;
    append_name(properties, "Socket-Type");
    append_integer(properties, kValue.size(), 4);
    append(properties, kValue);
    return properties;
}

ShortBytes ready() {
    const ShortBytes data = properties();
    ShortBytes command = begin_command("READY", data.size_bytes);
    append(command, data.view());
    return command;
}

ShortBytes ping(std::uint64_t time_to_live_ns) {
    constexpr std::uint64_t kUnitsMax = 0xffff;
    const std::uint64_t units = time_to_live_ns / kNsPerTtlUnit;
    ShortBytes command = begin_command("PING", 2);
    append_integer(command, units < kUnitsMax ? units : kUnitsMax, 2);
    return command;
}

ShortBytes pong(std::span<const std::byte> context) {
    ShortBytes command = begin_command("PONG", context.size());
    append(command, context);
    return command;
}

ShortBytes message_header(std::uint64_t size_bytes) {
    constexpr std::uint64_t kShortMax = 255;
    const bool is_long = size_bytes > kShortMax;
    ShortBytes header;
    append_integer(header, is_long ? kLong : 0, 1);
    append_integer(header, size_bytes, is_long ? 8 : 1);
    return header;
}

}  // namespace perfleet::zmtp_layout
