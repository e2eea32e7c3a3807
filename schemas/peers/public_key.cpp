#include "schemas/peers/public_key.h"

#include <cstdint>

namespace perfleet {
namespace {

constexpr std::string_view kDigits =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
constexpr std::uint64_t kBase = 85;
constexpr std::size_t kGroupDigits = 5;
constexpr std::size_t kGroupBytes = 4;
static_assert(kDigits.size() == kBase);

constexpr unsigned char kNoDigit = 0xff;

constexpr std::array<unsigned char, 256> make_values() {
    std::array<unsigned char, 256> values{};
    values.fill(kNoDigit);
    for (std::size_t i = 0; i < kDigits.size(); ++i) {
        values[static_cast<unsigned char>(kDigits[i])] = static_cast<unsigned char>(i);
    }
    return values;
}

constexpr std::array<unsigned char, 256> kValues = make_values();

}  // namespace

std::optional<PublicKey> decode_public_key(std::string_view text) {
    if (text.size() != kCurveKeyTextSize) {
        return std::nullopt;
    }
    PublicKey key;
    for (std::size_t group = 0; group < kCurveKeySizeBytes / kGroupBytes; ++group) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < kGroupDigits; ++i) {
            const unsigned char digit = kValues[static_cast<unsigned char>(text[group * kGroupDigits + i])];
            if (digit == kNoDigit) {
                return std::nullopt;
            }
            value = value * kBase + digit;
        }
        if (value > 0xffff'ffffU) {
            return std::nullopt;
        }
        for (std::size_t i = 0; i < kGroupBytes; ++i) {
            key.bytes[group * kGroupBytes + i] = static_cast<unsigned char>(value >> (8 * (kGroupBytes - 1 - i)));
        }
    }
    return key;
}

std::string encode_public_key(const PublicKey& key) {
    std::string text(kCurveKeyTextSize, '0');
    for (std::size_t group = 0; group < kCurveKeySizeBytes / kGroupBytes; ++group) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < kGroupBytes; ++i) {
            value = value << 8U | key.bytes[group * kGroupBytes + i];
        }
        for (std::size_t i = kGroupDigits; i > 0; --i) {
            text[group * kGroupDigits + i - 1] = kDigits[value % kBase];
            value /= kBase;
        }
    }
    return text;
}

}  // namespace perfleet
