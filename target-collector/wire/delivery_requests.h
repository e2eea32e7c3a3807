// The gateway's requests to the session: each is handed out once, and its answer is said whenever the gateway asks
// again. A gateway repeats a request until it is answered, and gives the next one only then.
//
// Freestanding; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "target-collector/message/control.h"
#include "target-collector/message/reply_reader.h"

namespace perfleet {

class DeliveryRequests {
public:
    // Who takes requests; without anybody each is refused as soon as it comes.
    enum class Taken : std::uint8_t { kNotAtAll, kEnded, kByUser };

    explicit DeliveryRequests(Taken taken) : taken_{taken} {}

    // A Control for this session, of the gateway that has welcomed us. False: it is out of turn, and left alone.
    [[nodiscard]] bool take(const Reply& control);

    // The order that waits for its answer; null: none does.
    [[nodiscard]] const ControlRequest* waiting() const { return is_waiting_ ? &order_ : nullptr; }
    void answer(const ControlAnswer& answer);

    // What has to be said to the gateway of this incarnation, as a frame; empty: nothing.
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
