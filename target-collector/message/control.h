// An operator's control request to a running session, and its answer.
//
// Freestanding. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/result.h"
#include "schemas/wire/protocol.h"

namespace perfleet {

struct ControlRequest {
    protocol::ControlCommand command{};  // may be an unknown command of a newer gateway
    EventNumber event = kNoEvent;        // kNoEvent: all events of the session
    std::uint64_t value = 0;             // new frequency or period

    friend constexpr bool operator==(const ControlRequest&, const ControlRequest&) = default;
};

struct ControlAnswer {
    protocol::ControlOutcome outcome{};
    std::string_view reason{};  // for the operator, if it wasn't applied; cut to kControlReasonSizeBytesMax
};
inline constexpr std::size_t kControlReasonSizeBytesMax = 160;

// Applies control requests to a running measurement. Called on the thread that makes rows.
class ControlTaker : NonCopyable {
public:
    // When it returns, new rows have the requested weights. Unless the answer is kApplied, nothing has changed. A
    // reason is borrowed until the next call.
    [[nodiscard]] virtual ControlAnswer take_request(const ControlRequest& order) = 0;

protected:
    ~ControlTaker() = default;
};

// Writes an Envelope with Controlled into `out` and returns its size in bytes. Faults: kFull.
inline constexpr std::size_t kControlledSizeBytesMax = 96 + kControlReasonSizeBytesMax;
[[nodiscard]] Checked<std::size_t> write_controlled(SessionId session, std::uint64_t number,
                                                    const ControlAnswer& answer, std::span<std::byte> out);

}  // namespace perfleet
