// Endpoints as users write them. Endpoints accepted as reachable from this machine alone begin as such places begin.
#include <string>

#include "schemas/host/endpoint.h"
#include "schemas/vocabulary/assert.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

// "::1", however many zeros and groups it is written with.
bool is_ipv6_loopback(std::string_view place) {
    std::string digits{place.substr(0, place.find(']'))};
    std::erase_if(digits, [](char c) { return c == ':' || c == '.' || c == '0'; });
    return digits == "1";
}

bool begins_locally(std::string_view endpoint) {
    constexpr std::string_view kIpv6 = "tcp://[";
    if (endpoint.starts_with(kIpv6)) {
        return is_ipv6_loopback(endpoint.substr(kIpv6.size()));
    }
    for (const std::string_view begin : {"tcp://127.", "ipc://", "inproc://"}) {
        if (endpoint.starts_with(begin) && endpoint.size() > begin.size()) {
            return true;
        }
    }
    return false;
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::string_view text = input.rest_text();
    const auto checked = check_endpoint("--listen", text, EndpointReach::kThisMachine);
    if (checked.ok()) {
        PERFLEET_ASSERT(begins_locally(text));
        PERFLEET_ASSERT(check_endpoint("--listen", text, EndpointReach::kAnywhere).ok());
    } else {
        PERFLEET_ASSERT(checked.error().message.find("--listen") != std::string::npos);
    }
    return 0;
}
