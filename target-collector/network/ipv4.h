// IPv4 addresses as text, for options of targets.
//
// Freestanding.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace perfleet {

// A number of 32 bits: 10.0.2.15 is 0x0a00020f.
struct Ipv4Address {
    std::uint32_t value = 0;

    friend bool operator==(const Ipv4Address&, const Ipv4Address&) = default;
};

struct Ipv4Endpoint {
    Ipv4Address address;
    std::uint16_t port = 0;
};

// An interface's address, and its route to others.
struct Ipv4Network {
    Ipv4Address address;
    Ipv4Address netmask;
    Ipv4Address router;  // 0: none
};

// "10.0.2.2:7411", a port from 1 on. Nothing: not such a text.
[[nodiscard]] std::optional<Ipv4Endpoint> parse_ipv4_endpoint(std::string_view text);

// "10.0.2.15/24" or "10.0.2.15/24,10.0.2.2", with a router; 1 to 30 bits. Nothing: not such a text.
[[nodiscard]] std::optional<Ipv4Network> parse_ipv4_network(std::string_view text);

}  // namespace perfleet
