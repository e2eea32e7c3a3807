#include "storage/engine/rados/shard_plan.h"

#include <algorithm>
#include <set>

namespace perfleet {

void GatewayBeats::see(const std::vector<GatewayEntry>& table, bool is_counted) {
    std::map<std::string, Seen> seen;
    for (const GatewayEntry& entry : table) {
        Seen now{entry.beat, 0};
        if (const auto before = seen_.find(entry.name); before != seen_.end() && before->second.beat == entry.beat) {
            now.unchanged_count = before->second.unchanged_count + (is_counted ? 1 : 0);
        }
        seen.emplace(entry.name, now);
    }
    seen_ = std::move(seen);
}

bool GatewayBeats::is_alive(const std::string& name) const {
    const auto found = seen_.find(name);
    return found != seen_.end() && found->second.unchanged_count < kLooksMax;
}

bool GatewayBeats::is_fresh(const std::string& name) const {
    const auto found = seen_.find(name);
    return found != seen_.end() && found->second.unchanged_count < kFreshLooksMax;
}

bool GatewayBeats::is_forgotten(const std::string& name) const {
    const auto found = seen_.find(name);
    return found != seen_.end() && found->second.unchanged_count >= kForgottenLooks;
}

ShardPlan plan_shards(const std::string& own, const std::vector<GatewayEntry>& alive, std::uint16_t shard_count) {
    std::vector<const GatewayEntry*> gateways;
    std::set<std::uint16_t> held;
    for (const GatewayEntry& entry : alive) {
        gateways.push_back(&entry);
        for (const auto& [shard, lease] : entry.leases) {
            held.insert(shard);
        }
    }
    std::sort(gateways.begin(), gateways.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
    std::vector<std::uint16_t> free;
    for (std::uint16_t shard = 0; shard < shard_count; ++shard) {
        if (!held.contains(shard)) {
            free.push_back(shard);
        }
    }
    ShardPlan plan;
    auto next = free.begin();
    for (std::size_t rank = 0; rank < gateways.size(); ++rank) {
        const GatewayEntry& gateway = *gateways[rank];
        const std::size_t part = shard_count / gateways.size() + (rank < shard_count % gateways.size() ? 1 : 0);
        for (std::size_t count = gateway.leases.size(); count < part && next != free.end(); ++count, ++next) {
            if (gateway.name == own) {
                plan.take.push_back(*next);
            }
        }
        if (gateway.name == own) {
            for (auto shard = gateway.leases.rbegin();
                 plan.give_up.size() + part < gateway.leases.size() && shard != gateway.leases.rend(); ++shard) {
                plan.give_up.push_back(shard->first);
            }
        }
    }
    return plan;
}

}  // namespace perfleet
