#include "target-collector/source/linux/content_hash.h"

namespace perfleet {

void ContentHash::add(std::span<const std::byte> bytes) {
    constexpr Wide kPrime = (static_cast<Wide>(1) << 88U) | 0x13b;
    for (const std::byte byte : bytes) {
        state_ = (state_ ^ static_cast<unsigned char>(byte)) * kPrime;
    }
}

std::array<std::byte, 16> ContentHash::value() const {
    std::array<std::byte, 16> out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = static_cast<std::byte>(static_cast<unsigned char>(state_ >> (8U * (out.size() - 1 - i))));
    }
    return out;
}

}  // namespace perfleet
