// Requests of operators to gateways that share a store, where there is no socket to them: each goes to the holder of
// one shard, which takes it within about a second. They are entered in the store, so who may write it may send them.
//
// Threads: one at a time. Texts are the gateway's business (gateway/control/operator_message.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

class RequestBox {
public:
    static constexpr std::size_t kRequestsMax = 1'024;             // of all operators, without an answer
    static constexpr std::uint64_t kRequestLifetimeS = 2 * 3'600;  // then a gateway removes it, or the answer

    RequestBox() = default;
    RequestBox(const RequestBox&) = delete;
    RequestBox& operator=(const RequestBox&) = delete;
    virtual ~RequestBox() = default;

    struct Request {
        std::uint16_t shard = 0;
        std::string text;
    };
    // Their ids, in this order. Errors: kNotFound (no gateway has said that it serves the store), kBusy (too many
    // wait), kPermission (it may only be read), kUnavailable.
    [[nodiscard]] virtual Result<std::vector<std::string>> post(std::span<const Request> requests) = 0;

    // By id, to requests that were posted here; they are taken out.
    [[nodiscard]] virtual Result<std::map<std::string, std::string>> take_answers() = 0;

    // Those without an answer, so that nobody takes them any more.
    [[nodiscard]] virtual Result<Done> withdraw() = 0;
};

// Errors: kUnsupported (a store in a folder; a build without RADOS), kNotFound, kPermission, kUnavailable.
[[nodiscard]] Result<std::unique_ptr<RequestBox>> open_request_box(const std::string& where);

}  // namespace perfleet
