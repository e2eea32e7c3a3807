// The relay's data of a session: requests of bounded size, and the position after them. Internal to one version of
// perfleet.
//
//  0      1              9             17
//  ┌──────┬──────────────┬─────────────┬─────────┐
//  │ type │ rows         │ size        │ content │   for each frame; numbers are little-endian
//  │ u8   │ u64          │ u64, bytes  │         │
//  └──────┴──────────────┴─────────────┴─────────┘
//
//  session   `ID BATCHES`: a selected session and how many batches of it the store has; its rows without filters
//  request   an ExportProfilesServiceRequest of one profile, and its rows
//  position  the batches that are sent once the requests before it are, as `1-17,19`; rows: 1 if there are more batches
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

namespace otlp_limits {
inline constexpr std::uint64_t kRequestRowsMax = 65'536;
inline constexpr std::size_t kRequestSizeBytesMax = 4U << 20;  // one row more, with its call chain, may exceed it
inline constexpr std::uint64_t kAnswerRowsMax = 500'000;       // of all requests of an answer; a batch is never divided
inline constexpr std::size_t kPositionSizeBytesMax = 48U << 10;
}  // namespace otlp_limits

// The format's name, and its options: `list` (sessions alone) or, for one session, `after` (a position).
inline constexpr const char* kOtlpRequests = "otlp-requests";

struct OtlpFrame {
    enum class Type : std::uint8_t { kSession = 1, kRequest = 2, kPosition = 3 };
    static constexpr std::size_t kHeaderSizeBytes = 17;

    Type type{};
    std::uint64_t rows = 0;
    std::string content;

    [[nodiscard]] std::string bytes() const {
        std::string text(1, static_cast<char>(type));
        for (const std::uint64_t number : {rows, std::uint64_t{content.size()}}) {
            for (unsigned shift = 0; shift < 64; shift += 8) {
                text += static_cast<char>(number >> shift & 0xffU);
            }
        }
        return text + content;
    }

    // Removes the first frame from `bytes`. Errors: kInvalid.
    [[nodiscard]] static Result<OtlpFrame> take(std::string_view& bytes_untrusted) {
        const auto number = [&](std::size_t at) {
            std::uint64_t made = 0;
            for (unsigned i = 0; i < 8; ++i) {
                made |= std::uint64_t{static_cast<unsigned char>(bytes_untrusted[at + i])} << (8 * i);
            }
            return made;
        };
        if (bytes_untrusted.size() < kHeaderSizeBytes || bytes_untrusted[0] < 1 || bytes_untrusted[0] > 3 ||
            number(9) > bytes_untrusted.size() - kHeaderSizeBytes) {
            return Error{ErrorCode::kInvalid, "the gateway's answer is cut: it has another version of perfleet"};
        }
        OtlpFrame frame{static_cast<Type>(bytes_untrusted[0]), number(1), {}};
        const std::uint64_t size = number(9);
        frame.content = bytes_untrusted.substr(kHeaderSizeBytes, size);
        bytes_untrusted.remove_prefix(kHeaderSizeBytes + size);
        return frame;
    }
};

}  // namespace perfleet
