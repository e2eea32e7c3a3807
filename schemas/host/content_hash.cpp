#include "schemas/host/content_hash.h"

#include <algorithm>
#include <vector>

#include "schemas/host/file_io.h"

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

std::optional<std::array<std::byte, 16>> content_hash_of_file(int fd, std::uint64_t file_size_bytes) {
    ContentHash hash;
    std::array<std::byte, 8> size_bytes{};
    for (std::size_t i = 0; i < size_bytes.size(); ++i) {
        size_bytes[i] = static_cast<std::byte>(static_cast<unsigned char>(file_size_bytes >> (8 * i)));
    }
    hash.add(size_bytes);
    constexpr std::size_t kStepBytes = 64U << 10U;
    std::vector<std::byte> step(kStepBytes);
    const std::uint64_t end = std::min(file_size_bytes, kHashedBytesMax);
    for (std::uint64_t at = 0; at < end;) {
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kStepBytes, end - at));
        const auto piece = std::span{step}.first(wanted);
        if (read_all_at(fd, at, piece) != wanted) {
            return std::nullopt;
        }
        hash.add(piece);
        at += wanted;
    }
    return hash.value();
}

}  // namespace perfleet
