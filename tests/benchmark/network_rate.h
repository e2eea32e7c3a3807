// The parts of the image that network_rate.cpp describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "target-collector/bare-metal/virtio_net.h"
#include "target-collector/network/ipv4.h"

namespace perfleet::bare_metal {

inline constexpr Ipv4Network kNetwork{{0x0a00'020f}, {0xffff'ff00}, {0x0a00'0202}};
inline constexpr Ipv4Address kHost{0x0a00'0264};

[[nodiscard]] std::uint64_t now_ns();
// Since `began_ns`.
void print_rate(std::string_view name, std::uint64_t bytes, std::uint64_t began_ns, std::uint64_t frames);

// Sends `piece` again and again, with lwIP's raw API and nothing else, until `bytes` are acknowledged.
void send_by_lwip(VirtioNet& card, std::span<const std::byte> piece, std::uint64_t bytes);

}  // namespace perfleet::bare_metal
