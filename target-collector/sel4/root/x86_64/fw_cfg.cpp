#include "target-collector/sel4/root/x86_64/fw_cfg.h"

#include <algorithm>
#include <array>

#include "target-collector/sel4/root/x86_64/io_ports.h"

namespace perfleet::sel4 {
namespace {

constexpr std::uint16_t kSelector = 0x510;
constexpr std::uint16_t kData = 0x511;
constexpr std::uint16_t kSignature = 0x00;  // "QEMU"
constexpr std::uint16_t kDirectory = 0x19;
constexpr std::size_t kNameSizeBytes = 56;
constexpr std::uint32_t kFilesMax = 256;

// Big-endian.
std::uint32_t take_integer(const IoPorts& ports, int size_bytes) {
    std::uint32_t value = 0;
    for (int i = 0; i < size_bytes; ++i) {
        value = value << 8 | ports.in(kData);
    }
    return value;
}

}  // namespace

std::string_view read_fw_cfg(Objects& objects, std::string_view name, std::span<char> into) {
    constexpr std::uint32_t kQemu = 0x5145'4d55;
    const IoPorts ports{objects, kSelector, kData};
    ports.out16(kSelector, kSignature);
    if (take_integer(ports, 4) != kQemu) {
        return {};
    }
    ports.out16(kSelector, kDirectory);
    const std::uint32_t count = std::min(take_integer(ports, 4), kFilesMax);
    for (std::uint32_t i = 0; i < count; ++i) {
        // Size, selector, two unused bytes, the name and NULs behind it.
        const std::size_t size = take_integer(ports, 4);
        const auto selector = static_cast<std::uint16_t>(take_integer(ports, 2));
        (void)take_integer(ports, 2);
        std::array<char, kNameSizeBytes> found{};
        for (char& character : found) {
            character = static_cast<char>(ports.in(kData));
        }
        const std::string_view text{found.data(), found.size()};
        if (text.starts_with(name) && (name.size() == text.size() || text[name.size()] == 0)) {
            ports.out16(kSelector, selector);
            const std::size_t taken = std::min(size, into.size());
            for (char& character : into.first(taken)) {
                character = static_cast<char>(ports.in(kData));
            }
            return {into.data(), taken};
        }
    }
    return {};
}

}  // namespace perfleet::sel4
