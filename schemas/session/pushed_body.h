// A profile that an agent pushed, as passed on by the server that received it. All of it is untrusted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace perfleet {

enum class PushFormat : std::uint8_t { kOtlp, kPyroscopePush, kPyroscopeIngest };

struct PushedBody {
    PushFormat format{};
    std::string client;                                           // the authenticated sender; may be empty
    std::vector<std::pair<std::string, std::string>> parameters;  // kPyroscopeIngest: those of the request
    std::string body;                                             // protobuf, or the format that the parameters name
};

struct PushCounts {
    std::uint64_t requests = 0;
    std::uint64_t refused = 0;  // whole
    std::uint64_t rows = 0;     // that were stored
    std::uint64_t profiles_rejected = 0;
};

}  // namespace perfleet
