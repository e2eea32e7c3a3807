// Where an operator's order passes from the wire's thread to the thread that measures, and its answer back. One order
// at a time.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "target-collector/message/control.h"

namespace perfleet {

class OrderDesk {
public:
    // A descriptor that is readable while an order lies here.
    OrderDesk();
    ~OrderDesk();
    OrderDesk(const OrderDesk&) = delete;
    OrderDesk& operator=(const OrderDesk&) = delete;
    [[nodiscard]] int fd() const { return fd_; }

    // The wire's side. An order that lies here already is the same one.
    void place(const ControlOrder& order);
    struct Answer {
        protocol::ControlOutcome outcome{};
        std::string reason;
    };
    [[nodiscard]] std::optional<Answer> take_answer();

    // The other side: what take() gives has to be answered, unless the desk is closed: then nothing is measured any
    // more, and the desk says so itself.
    [[nodiscard]] std::optional<ControlOrder> take();
    void answer(const ControlAnswer& answer);
    void close();

private:
    std::mutex mutex_;
    int fd_;
    bool is_closed_ = false;
    bool is_taken_ = false;
    std::optional<ControlOrder> order_;
    std::optional<Answer> answer_;
};

}  // namespace perfleet
