#include "target-collector/network/ipv4.h"

#include <cstddef>

namespace perfleet {
namespace {

// Takes parts off the front of a text; once one is missing, the text is invalid. string_view's own functions for that
// need memchr() and exceptions.
class Reader {
public:
    explicit Reader(std::string_view text) : text_{text} {}

    // A decimal number from 0 to `max`.
    std::uint32_t number(std::uint32_t max) {
        std::uint32_t value = 0;
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && value <= max) {
            value = value * 10 + static_cast<std::uint32_t>(text_[at_++] - '0');
        }
        is_good_ = is_good_ && at_ > begin && value <= max;
        return value;
    }
    [[nodiscard]] bool is_at(char letter) const { return at_ < text_.size() && text_[at_] == letter; }
    void letter(char letter) {
        is_good_ = is_good_ && is_at(letter);
        ++at_;
    }
    Ipv4Address address() {
        constexpr int kParts = 4;
        constexpr std::uint32_t kPartMax = 255;
        Ipv4Address address{number(kPartMax)};
        for (int i = 1; i < kParts; ++i) {
            letter('.');
            address.value = address.value << 8 | number(kPartMax);
        }
        return address;
    }
    // All was taken, and no part was missing.
    [[nodiscard]] bool is_whole() const { return is_good_ && at_ == text_.size(); }

private:
    std::string_view text_;
    std::size_t at_ = 0;
    bool is_good_ = true;
};

}  // namespace

std::optional<Ipv4Endpoint> parse_ipv4_endpoint(std::string_view text) {
    constexpr std::uint32_t kPortMax = 65'535;
    Reader reader{text};
    Ipv4Endpoint endpoint;
    endpoint.address = reader.address();
    reader.letter(':');
    endpoint.port = static_cast<std::uint16_t>(reader.number(kPortMax));
    return reader.is_whole() && endpoint.port != 0 ? std::optional{endpoint} : std::nullopt;
}

std::optional<Ipv4Network> parse_ipv4_network(std::string_view text) {
    constexpr std::uint32_t kBitsMax = 30;
    Reader reader{text};
    Ipv4Network network;
    network.address = reader.address();
    reader.letter('/');
    const std::uint32_t bits = reader.number(kBitsMax);
    if (reader.is_at(',')) {
        reader.letter(',');
        network.router = reader.address();
    }
    if (!reader.is_whole() || bits == 0) {
        return std::nullopt;
    }
    network.netmask.value = ~0U << (32 - bits);
    return network;
}

}  // namespace perfleet
