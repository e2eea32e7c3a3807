// Operators' requests that are placed in a store that several gateways share (storage/engine/request_box.h): this
// gateway takes those for its shards.
//
// One thread; no call blocks. Bounded: RequestBox::kRequestsMax without an answer; further ones are refused. Requests
// to keep symbols are refused, because they name a file of the operator's host.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "gateway/control/request_source.h"
#include "storage/engine/shard_leases.h"

namespace perfleet {

class SharedRequests final : public RequestSource {
public:
    // Borrowed.
    explicit SharedRequests(ShardLeases& leases) : leases_{leases} {}

    [[nodiscard]] int fd() const override { return -1; }
    [[nodiscard]] Incoming take() override;
    void answer(std::uint64_t ticket, RequestOutcome outcome, std::string reason) override;

private:
    ShardLeases& leases_;
    std::uint64_t last_ticket_ = 0;
    struct Unanswered {
        std::string id;                  // of the request in the store
        std::uint32_t operators_id = 0;  // in the operator's message
    };
    std::map<std::uint64_t, Unanswered> unanswered_;  // by ticket
};

}  // namespace perfleet
