// FNV-1a with 128 bits (offset basis 0x6c62272e07bb014262b821756295c58d, prime 2^88 + 0x13b; Fowler, Noll, Vo, RFC
// 9923): names the content of files that have no build-id.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace perfleet {

class ContentHash {
public:
    void add(std::span<const std::byte> bytes);
    [[nodiscard]] std::array<std::byte, 16> value() const;  // big-endian, as it is printed

private:
    __extension__ using Wide = unsigned __int128;
    Wide state_ = (static_cast<Wide>(0x6c62272e07bb0142ULL) << 64U) | 0x62b821756295c58dULL;
};

// The hash of an open regular file: of its size (8 bytes, little-endian) and its first kHashedBytesMax bytes. Empty if
// it can't be read.
inline constexpr std::uint64_t kHashedBytesMax = 16U << 20U;
[[nodiscard]] std::optional<std::array<std::byte, 16>> content_hash_of_file(int fd, std::uint64_t file_size_bytes);

}  // namespace perfleet
