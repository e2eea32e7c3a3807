// Places to listen at, and which of them can only be reached from this machine: where programs without keys listen; and
// places to connect to.
//
// Hosts only.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

enum class EndpointReach : std::uint8_t {
    kThisMachine,  // `tcp://127.x.y.z:PORT`, `tcp://[::1]:PORT`, `ipc://PATH`, `inproc://NAME`
    kAnywhere,     // and tcp:// at every address
};

// `*` as PORT takes a free one. Errors: kUsage, naming the option, the endpoint and the way out.
[[nodiscard]] Result<Done> check_endpoint(std::string_view option, std::string_view endpoint, EndpointReach reach);

// Of a program, which nobody reaches over inproc://; without keys on this machine only.
[[nodiscard]] Result<Done> check_program_endpoint(std::string_view option, std::string_view endpoint, bool has_keys);

// Of a peer: `tcp://HOST:PORT` with a name or an address (IPv6 in brackets) and a port from 1 to 65535, or
// `ipc://PATH`. libzmq takes a part of other ports, and waits for ever at what it can't read. Errors: kUsage, naming
// all that check_endpoint() names.
[[nodiscard]] Result<Done> check_peer_endpoint(std::string_view option, std::string_view endpoint);

}  // namespace perfleet
