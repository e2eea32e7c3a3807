// Describes a gateway's refusal of a session for the user.
#pragma once

#include <cstdint>
#include <string_view>

namespace perfleet {

// `reason`: protocol::RefusedReason.
[[nodiscard]] std::string_view refusal(std::uint16_t reason);

}  // namespace perfleet
