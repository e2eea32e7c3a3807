// The processes that write a store on RADOS, and their shards: each process has one entry, which only it writes, every
// two seconds. This table decides nothing: leases are in the directories' heads. It also has operators' requests to the
// holders of shards, and their answers. README.md of this folder.
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

[[nodiscard]] std::uint64_t utc_now_s();  // since 1970

struct GatewayEntry {
    std::string name;        // random
    std::uint64_t beat = 0;  // changes with each write
    bool is_alone = false;   // doesn't share the store
    GatewayAddress address;
    std::map<std::uint16_t, std::uint64_t> leases;  // by shard
    std::optional<ShardLeases::ClassSizes> sizes;   // empty: not measured since it has these shards

    friend bool operator==(const GatewayEntry&, const GatewayEntry&) = default;
};

[[nodiscard]] std::string encode_gateway(const GatewayEntry& entry);  // without its name
[[nodiscard]] std::optional<GatewayEntry> decode_gateway_untrusted(std::string_view name, std::string_view bytes);

// An operator's request to the holder of a shard, or the answer to it (storage/engine/request_box.h).
struct OperatorEntry {
    std::string id;           // random
    std::uint16_t shard = 0;  // of requests
    std::uint64_t since_s = 0;
    std::string text;

    friend bool operator==(const OperatorEntry&, const OperatorEntry&) = default;
};

struct GatewayTable {
    std::vector<GatewayEntry> gateways;
    std::vector<OperatorEntry> requests;
    std::vector<OperatorEntry> answers;
};

// Entries that are written and removed together.
struct GatewayTableChange {
    std::vector<GatewayEntry> gateways;
    std::vector<OperatorEntry> requests;
    std::vector<OperatorEntry> answers;
    std::vector<std::string> removed_gateways;  // names
    std::vector<std::string> removed_requests;  // ids, the same as those of answers
    std::vector<std::string> removed_answers;
};

[[nodiscard]] Result<Done> change_gateway_table(RadosPool& pool, const GatewayTableChange& change);
// Each list ascends by name or id; unreadable entries are left out.
[[nodiscard]] Result<GatewayTable> read_gateway_table(RadosPool& pool);

}  // namespace perfleet
