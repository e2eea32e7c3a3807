// Who writes a store on RADOS, and which shards: an entry for each process, which it alone writes, every second.
// Nothing is decided by it: leases are in the directories' heads. README.md of this folder.
//
// Errors: those of the pool.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/engine/rados/pool.h"
#include "storage/engine/shard_leases.h"

namespace perfleet {

struct GatewayEntry {
    std::string name;        // random
    std::uint64_t beat = 0;  // another each second
    bool is_alone = false;   // shares the store with nobody
    GatewayAddress address;
    std::map<std::uint16_t, std::uint64_t> leases;  // by shard

    friend bool operator==(const GatewayEntry&, const GatewayEntry&) = default;
};

[[nodiscard]] std::string encode_gateway(const GatewayEntry& entry);  // without its name
[[nodiscard]] std::optional<GatewayEntry> decode_gateway_untrusted(std::string_view name, std::string_view bytes);

[[nodiscard]] Result<Done> write_gateway(RadosPool& pool, const GatewayEntry& entry);
[[nodiscard]] Result<Done> remove_gateway(RadosPool& pool, const std::string& name);
// By name; those that can't be read are left out.
[[nodiscard]] Result<std::vector<GatewayEntry>> read_gateways(RadosPool& pool);

}  // namespace perfleet
