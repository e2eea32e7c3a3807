// A connection to the gateway, or the recorder, that writes to a data folder: requests about sessions, and its answers.
#pragma once

#include <vector>

#include "gateway/control/operator_message.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/session.h"

namespace perfleet {

struct Answered {
    SessionRecord session;
    OperatorReply reply;
};

class ControlLine {
public:
    // Takes the descriptor (connect_control_socket).
    explicit ControlLine(int fd) : fd_{fd} {}
    ~ControlLine();
    ControlLine(const ControlLine&) = delete;
    ControlLine& operator=(const ControlLine&) = delete;

    // The same order to all; answers in the order in which they come. Errors: kUnavailable, kInvalid.
    [[nodiscard]] Result<std::vector<Answered>> ask(const std::vector<SessionRecord>& sessions, OperatorCommand order);

private:
    int fd_;
};

}  // namespace perfleet
