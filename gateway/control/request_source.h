// A source of operators' requests, which also takes the answers to them.
//
// One thread; no call blocks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gateway/control/operator_message.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class RequestSource : NonCopyable {
public:
    virtual ~RequestSource() = default;

    // Readable when take() has something to do; -1: call take() several times a second.
    [[nodiscard]] virtual int fd() const = 0;

    // A request's ticket is never used again.
    struct Incoming {
        std::vector<std::pair<std::uint64_t, OperatorCommand>> requests;
        std::vector<std::uint64_t> withdrawn;  // tickets of operators that have disconnected
    };
    [[nodiscard]] virtual Incoming take() = 0;

    // Answers a request of take(). Does nothing if its operator has disconnected.
    virtual void answer(std::uint64_t ticket, RequestOutcome outcome, std::string reason) = 0;
};

}  // namespace perfleet
