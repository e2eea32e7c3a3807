// The gateway's control requests: each is given to the user once, and its answer is sent whenever the gateway repeats
// the request. A gateway repeats a request until it is answered, and sends the next one only then.
//
// Freestanding; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "target-collector/message/control.h"
#include "target-collector/message/reply_reader.h"

namespace perfleet {

class DeliveryRequests {
public:
    // How requests are answered; kNotAtAll and kEnded: each is refused immediately.
    enum class Taken : std::uint8_t { kNotAtAll, kEnded, kByUser };

    explicit DeliveryRequests(Taken taken) : taken_{taken} {}

    // Takes a Control for this session from the gateway that has welcomed it. False: out of turn, ignored.
    [[nodiscard]] bool take(const Reply& control);

    // The request that waits for its answer; null: none.
    [[nodiscard]] const ControlRequest* waiting() const { return is_waiting_ ? &order_ : nullptr; }
    void answer(const ControlAnswer& answer);

    // The frame to send to the gateway of this incarnation; empty: none.
    [[nodiscard]] std::span<const std::byte> due(SessionId session, std::uint64_t incarnation);
    void said() { is_answer_due_ = false; }

private:
    Taken taken_;
    bool is_waiting_ = false;
    bool is_answer_due_ = false;
    std::uint64_t number_ = 0;  // of the last request; 0: there was none
    std::uint64_t incarnation_ = 0;
    ControlRequest order_;
    protocol::ControlOutcome outcome_{};
    std::size_t reason_size_bytes_ = 0;
    std::array<char, kControlReasonSizeBytesMax> reason_{};
    alignas(8) std::array<std::byte, kControlledSizeBytesMax> frame_{};
};

}  // namespace perfleet
