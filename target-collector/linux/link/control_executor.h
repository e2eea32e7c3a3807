// Passes a control request from the wire's thread to the measuring thread, and the answer back. One request at a time.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/message/control.h"

namespace perfleet {

class ControlExecutor : NonCopyable {
public:
    // Owns a descriptor that is readable while a request is pending.
    ControlExecutor();
    [[nodiscard]] int fd() const { return event_.fd(); }

    // For the wire's thread. A pending request is the same one, repeated.
    void place(const ControlRequest& order);
    struct Answer {
        protocol::ControlOutcome outcome{};
        std::string reason;
    };
    [[nodiscard]] std::optional<Answer> take_answer();

    // For the measuring thread, which must answer what take() returns. Once the executor is closed nothing is measured
    // any more, and it answers by itself.
    [[nodiscard]] std::optional<ControlRequest> take();
    void answer(const ControlAnswer& answer);
    void close();

private:
    std::mutex mutex_;
    WakeEvent event_;
    bool is_closed_ = false;
    bool is_taken_ = false;
    std::optional<ControlRequest> order_;
    std::optional<Answer> answer_;
};

}  // namespace perfleet
