// What to do after an attempt to send a request of OTLP, and when to try again.
//
// Pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schemas/vocabulary/time.h"

namespace perfleet {

enum class SendVerdict : std::uint8_t {
    kAccepted,
    kRetry,     // 429, 502, 503, 504, and lost connections
    kRejected,  // this request alone
    kStop,      // every other one would be refused, too: an unknown path, no access, a redirection
};

// `status`: of the response; 0: the connection was lost before it came.
[[nodiscard]] SendVerdict verdict_of(unsigned status);

// The time that Retry-After names: seconds, or a date of HTTP. Nothing if it is neither.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view text_untrusted, UtcNs now);

struct RetryState {
    unsigned attempts = 0;                 // that failed, at least 1
    std::chrono::milliseconds elapsed{0};  // since the first attempt
    std::chrono::milliseconds give_up_after{0};
    std::optional<std::chrono::milliseconds> retry_after{};  // as the server asks
    double jitter = 0.5;                                     // a random number in [0, 1)
};

inline constexpr std::chrono::milliseconds kRetryDelayMin{1'000};
inline constexpr std::chrono::milliseconds kRetryDelayMax{60'000};

// The delay before the next attempt: twice as long each time, spread by half of it; never less than the server asks.
// Nothing: it would begin after the time to give up.
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_delay(const RetryState& state);

}  // namespace perfleet
