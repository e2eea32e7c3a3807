// Sends control requests about sessions to the process that writes a store, and returns its answers. If a single
// gateway or recorder writes to a folder, requests go over its socket. If gateways share a store, requests go through
// the store, each to the gateway that holds the session's shard.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/control/operator_message.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

struct Answered {
    SessionRecord session;
    OperatorReply reply;
};

class ControlLine {
public:
    // Errors: kNotFound (no process serves the store), kPermission, kUnavailable.
    [[nodiscard]] static Result<std::unique_ptr<ControlLine>> open(const std::string& where);
    ControlLine() = default;
    ControlLine(const ControlLine&) = delete;
    ControlLine& operator=(const ControlLine&) = delete;
    virtual ~ControlLine() = default;

    // Sends the same request for all sessions; answers are in order of arrival. Errors: kUnavailable, kInvalid.
    [[nodiscard]] virtual Result<std::vector<Answered>> ask(const std::vector<SessionRecord>& sessions,
                                                            OperatorCommand order) = 0;
};

// Sends the request to the process that has the store open. Errors: kBusy (it takes no requests), and those of ask().
[[nodiscard]] Result<std::vector<Answered>> ask_writer(const std::string& where,
                                                       const std::vector<SessionRecord>& sessions,
                                                       const OperatorCommand& order);

}  // namespace perfleet
