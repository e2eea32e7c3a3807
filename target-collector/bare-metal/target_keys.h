// The keys by which this board and its gateway authenticate each other, where this image was built with libsodium.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "target-collector/wire/zmtp_mechanism.h"

namespace perfleet::bare_metal {

inline constexpr std::size_t kTargetKeysSizeBytes = 64;

struct TargetKeys {
    ZmtpMechanism* mechanism = nullptr;
    std::string_view error;  // why there is no mechanism; ends with a NUL
};
// `keys`: kTargetKeysSizeBytes as `perfleet keygen --raw` writes them; `seed`: random bytes of this start, at least 32.
// For the program's life.
[[nodiscard]] TargetKeys open_keys(std::span<const std::byte> keys, std::span<const std::byte> seed);

}  // namespace perfleet::bare_metal
