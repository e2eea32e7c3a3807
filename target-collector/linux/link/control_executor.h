// Where an operator's request passes from the wire's thread to the thread that measures, and its answer back. One order
// at a time.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "schemas/host/wake_event.h"
#include "target-collector/message/control.h"

namespace perfleet {

class ControlExecutor {
public:
    // A descriptor that is readable while a request lies here.
    ControlExecutor();
    ControlExecutor(const ControlExecutor&) = delete;
    ControlExecutor& operator=(const ControlExecutor&) = delete;
    [[nodiscard]] int fd() const { return event_.fd(); }

    // The wire's side. A request that lies here already is the same one.
    void place(const ControlRequest& order);
    struct Answer {
        protocol::ControlOutcome outcome{};
        std::string reason;
    };
    [[nodiscard]] std::optional<Answer> take_answer();

    // The other side: what take() gives has to be answered, unless the executor is closed: then nothing is measured any
    // more, and the executor says so itself.
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
