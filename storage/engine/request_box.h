// Operators' requests to gateways that share a store, without a socket to them: each goes to the holder of one shard,
// which takes it within about a second. Requests are placed in the store: permission to write it is permission to send
// them.
//
// Threads: one at a time. The texts are defined by gateway/control/operator_message.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class RequestBox : NonCopyable {
public:
    static constexpr std::size_t kRequestsMax = 1'024;             // of all operators, without an answer
    static constexpr std::uint64_t kRequestLifetimeS = 2 * 3'600;  // then a gateway removes it or its answer

    virtual ~RequestBox() = default;

    struct Request {
        std::uint16_t shard = 0;
        std::string text;
    };
    // Returns the requests' ids, in this order. Errors: kNotFound (no gateway serves the store), kBusy (too many
    // requests wait), kPermission (read-only access), kUnavailable.
    [[nodiscard]] virtual Result<std::vector<std::string>> post(std::span<const Request> requests) = 0;

    // Takes the answers to requests posted here, by id.
    [[nodiscard]] virtual Result<std::map<std::string, std::string>> take_answers() = 0;

    // Removes requests without an answer, so that no gateway takes them any more.
    [[nodiscard]] virtual Result<Done> withdraw() = 0;
};

// Errors: kUnsupported (a store in a folder; a build without RADOS), kNotFound, kPermission, kUnavailable.
[[nodiscard]] Result<std::unique_ptr<RequestBox>> open_request_box(const std::string& where);

}  // namespace perfleet
