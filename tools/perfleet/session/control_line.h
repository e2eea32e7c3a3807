// The way to the gateway, or the recorder, that writes a store: requests about sessions, and its answers. To who writes
// a folder over its socket; to gateways that share a store by way of the store, each session's to the holder of its
// shard.
#pragma once

#include <memory>
#include <string>
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
    // Errors: kNotFound (nobody serves it), kPermission, kUnavailable.
    [[nodiscard]] static Result<std::unique_ptr<ControlLine>> open(const std::string& where);
    ControlLine() = default;
    ControlLine(const ControlLine&) = delete;
    ControlLine& operator=(const ControlLine&) = delete;
    virtual ~ControlLine() = default;

    // The same order to all; answers in the order in which they come. Errors: kUnavailable, kInvalid.
    [[nodiscard]] virtual Result<std::vector<Answered>> ask(const std::vector<SessionRecord>& sessions,
                                                            OperatorCommand order) = 0;
};

}  // namespace perfleet
