#include "tools/perfleet/send/retry.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string>

namespace perfleet {

SendVerdict verdict_of(unsigned status) {
    switch (status) {
        case 0:
        case 429:
        case 502:
        case 503:
        case 504: return SendVerdict::kRetry;
        case 401:
        case 403:
        case 404:
        case 405:
        case 415: return SendVerdict::kStop;
        default:
            return status >= 200 && status < 300   ? SendVerdict::kAccepted
                   : status >= 300 && status < 400 ? SendVerdict::kStop
                                                   : SendVerdict::kRejected;
    }
}

std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view text_untrusted, UtcNs now) {
    constexpr std::int64_t kSecondsMax = 7 * 24 * 3'600;
    std::int64_t seconds = 0;
    const char* const end = text_untrusted.data() + text_untrusted.size();
    const auto read = std::from_chars(text_untrusted.data(), end, seconds);
    if (read.ec != std::errc{} || read.ptr != end) {
        std::tm date{};
        const std::string text{text_untrusted};
        const char* const rest = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
        if (rest == nullptr || *rest != '\0') {
            return std::nullopt;
        }
        seconds = ::timegm(&date) - now.value / kNsPerSecond;
    }
    return std::chrono::seconds{std::clamp<std::int64_t>(seconds, 0, kSecondsMax)};
}

std::optional<std::chrono::milliseconds> retry_delay(const RetryState& state) {
    constexpr unsigned kDoublingsMax = 6;
    const auto base = std::min(kRetryDelayMax, kRetryDelayMin * (1U << std::min(state.attempts - 1, kDoublingsMax)));
    const auto spread =
        std::chrono::milliseconds{static_cast<std::int64_t>(static_cast<double>(base.count()) * (0.5 + state.jitter))};
    // So that clients with the same Retry-After at the same time don't all retry at once.
    const auto asked = state.retry_after.value_or(std::chrono::milliseconds{0}) +
                       (state.retry_after ? spread / 10 : std::chrono::milliseconds{0});
    const auto delay = std::max(state.retry_after ? std::chrono::milliseconds{0} : spread, asked);
    return state.elapsed + delay > state.give_up_after ? std::nullopt : std::optional{delay};
}

}  // namespace perfleet
