// Checks endpoints to listen at and endpoints to connect to. Programs without keys may listen only where just this
// machine can connect.
//
// Hosts only.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

enum class EndpointReach : std::uint8_t {
    kThisMachine,  // `tcp://127.x.y.z:PORT`, `tcp://[::1]:PORT`, `ipc://PATH`, `inproc://NAME`
    kAnywhere,     // also tcp:// at every address
};

// `*` as PORT takes a free one. Errors: kUsage, naming the option, the endpoint and the way out.
[[nodiscard]] Result<Done> check_endpoint(std::string_view option, std::string_view endpoint, EndpointReach reach);

// An endpoint where a program listens: not inproc://; without keys only this machine may reach it.
[[nodiscard]] Result<Done> check_program_endpoint(std::string_view option, std::string_view endpoint, bool has_keys);

// An endpoint of a peer: `tcp://HOST:PORT` with a name or an address (IPv6 in brackets) and a port from 1 to 65535, or
// `ipc://PATH`. libzmq itself truncates other ports, and waits forever at an endpoint that it can't parse. Errors:
// kUsage, naming the same as check_endpoint().
[[nodiscard]] Result<Done> check_peer_endpoint(std::string_view option, std::string_view endpoint);

}  // namespace perfleet
