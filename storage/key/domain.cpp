#include "storage/key/domain.h"

#include "storage/key/key_bytes.h"

namespace perfleet {

Result<Domain> domain_of_key(std::string_view key, ShardCount shards) {
    const auto table = static_cast<Table>(key.empty() ? 0xff : static_cast<unsigned char>(key.front()));
    switch (table) {
        case Table::kFormat: return Domain{Domain::Type::kStore};
        case Table::kImage: return Domain{Domain::Type::kImage};
        case Table::kPartition:
        case Table::kDropped: {
            const auto partition = PERFLEET_TRY(decode_partition(key));
            return table == Table::kPartition ? domain_of(partition) : shard_domain(partition.shard);
        }
        case Table::kSession:
        case Table::kSessionEnd:
        case Table::kWatermark:
        case Table::kSessionPartition:
        case Table::kExpired:
        case Table::kExpiredBatch:
        case Table::kSessionNote: break;
        default: return Error{ErrorCode::kInvalid, describe_key(key) + " is in no table"};
    }
    // All keys of these tables begin with the target.
    if (key.size() < 1 + sizeof(std::uint64_t)) {
        return Error{ErrorCode::kInvalid, describe_key(key) + " names no target"};
    }
    TargetId target;
    for (const char byte : key.substr(1, sizeof(target.value))) {
        target.value = target.value << 8U | static_cast<unsigned char>(byte);
    }
    return shard_domain(target, shards);
}

}  // namespace perfleet
