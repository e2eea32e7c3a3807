// Where requests of operators come in, and their answers go out.
//
// One thread; nothing waits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gateway/control/operator_message.h"

namespace perfleet {

class RequestSource {
public:
    RequestSource() = default;
    RequestSource(const RequestSource&) = delete;
    RequestSource& operator=(const RequestSource&) = delete;
    virtual ~RequestSource() = default;

    // Readable when take() has something to do; -1: it is to be asked several times a second.
    [[nodiscard]] virtual int fd() const = 0;

    // A request's ticket is never used again.
    struct Incoming {
        std::vector<std::pair<std::uint64_t, OperatorCommand>> requests;
        std::vector<std::uint64_t> withdrawn;  // tickets of operators that are gone
    };
    [[nodiscard]] virtual Incoming take() = 0;

    // To a request that was taken. Nothing happens when its operator is gone.
    virtual void answer(std::uint64_t ticket, RequestOutcome outcome, std::string reason) = 0;
};

}  // namespace perfleet
