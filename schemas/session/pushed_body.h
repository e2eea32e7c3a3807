// What an agent pushes, as the server that received it passes it on. All of it is untrusted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace perfleet {

enum class PushFormat : std::uint8_t { kOtlp, kPyroscopePush, kPyroscopeIngest };

struct PushedBody {
    PushFormat format{};
    std::string client;                                           // who is known to send it; may be empty
    std::vector<std::pair<std::string, std::string>> parameters;  // kPyroscopeIngest: those of the request
    std::string body;                                             // protobuf, or as the parameters say
};

}  // namespace perfleet
