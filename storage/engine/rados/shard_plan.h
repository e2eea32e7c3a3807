// Which gateway should hold how many shards, and which of the others live. Every gateway computes it from the same
// table (gateway_table.h); where two disagree for a moment the directories' leases decide.
//
// Values without I/O.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/engine/rados/gateway_table.h"

namespace perfleet {

// Others, as their beats are seen. Looks are counted instead of time: while the cluster doesn't answer nobody can beat.
class GatewayBeats {
public:
    static constexpr int kLooksMax = 6;  // without a new beat; then it is dead
    static constexpr int kFreshLooksMax = 3;
    static constexpr int kForgottenLooks = 60;  // and its entry may go

    // `is_counted`: a second has passed since the last look that counted.
    void see(const std::vector<GatewayEntry>& table, bool is_counted);

    [[nodiscard]] bool is_alive(const std::string& name) const;
    // Has just been heard of: nobody is sent to one that may be dead.
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

// `alive` are those that live, this one among them; each gets as many shards as every other one, or one more.
[[nodiscard]] ShardPlan plan_shards(const std::string& own, const std::vector<GatewayEntry>& alive,
                                    std::uint16_t shard_count);

}  // namespace perfleet
