// An operator's request to a running session, and what became of it.
//
// Freestanding. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/wire/protocol.h"

namespace perfleet {

struct ControlRequest {
    protocol::ControlCommand command{};  // of a newer gateway: one that has no name here
    EventNumber event = kNoEvent;        // kNoEvent: all of the session's
    std::uint64_t value = 0;             // new frequency or period

    friend constexpr bool operator==(const ControlRequest&, const ControlRequest&) = default;
};

struct ControlAnswer {
    protocol::ControlOutcome outcome{};
    std::string_view reason{};  // for the operator, where it wasn't applied; cut at kControlReasonSizeBytesMax
};
inline constexpr std::size_t kControlReasonSizeBytesMax = 160;

// Whoever changes what is measured while it is measured. Called where rows are made, on their thread.
class ControlTaker {
public:
    ControlTaker() = default;
    ControlTaker(const ControlTaker&) = delete;
    ControlTaker& operator=(const ControlTaker&) = delete;

    // From its return on rows have the weights of what was ordered. What isn't kApplied has changed nothing. A reason
    // is borrowed until the next call.
    [[nodiscard]] virtual ControlAnswer take_request(const ControlRequest& order) = 0;

protected:
    ~ControlTaker() = default;
};

// Writes an Envelope with Controlled into `out` and returns its size. Faults: kFull.
inline constexpr std::size_t kControlledSizeBytesMax = 96 + kControlReasonSizeBytesMax;
[[nodiscard]] Checked<std::size_t> write_controlled(SessionId session, std::uint64_t number,
                                                    const ControlAnswer& answer, std::span<std::byte> out);

}  // namespace perfleet
