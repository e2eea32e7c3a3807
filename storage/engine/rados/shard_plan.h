// Plans how many shards each gateway holds, and determines which other gateways are alive. Every gateway computes the
// plan from the same table (gateway_table.h); if two disagree for a moment, the directories' leases decide.
//
// Plain values; no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/engine/rados/gateway_table.h"

namespace perfleet {

// The beats of other gateways. Counts checks instead of time, because no gateway can write its beat while the cluster
// doesn't answer.
class GatewayBeats {
public:
    static constexpr int kLooksMax = 6;  // checks without a new beat after which a gateway is dead
    static constexpr int kFreshLooksMax = 3;
    static constexpr int kForgottenLooks = 60;  // checks after which its entry may be removed

    // `is_counted`: a second has passed since the last counted check.
    void see(const std::vector<GatewayEntry>& table, bool is_counted);

    [[nodiscard]] bool is_alive(const std::string& name) const;
    // Whether it has beaten recently: collectors aren't sent to a gateway that may be dead.
    [[nodiscard]] bool is_fresh(const std::string& name) const;
    [[nodiscard]] bool is_forgotten(const std::string& name) const;

private:
    struct Seen {
        std::uint64_t beat = 0;
        int unchanged_count = 0;
    };
    std::map<std::string, Seen> seen_;
};

struct ShardPlan {
    std::vector<std::uint16_t> take;
    std::vector<std::uint16_t> give_up;
};

// `alive` are the live gateways, this one included. Their numbers of shards differ by one at most.
[[nodiscard]] ShardPlan plan_shards(const std::string& own, const std::vector<GatewayEntry>& alive,
                                    std::uint16_t shard_count);

}  // namespace perfleet
