// The dictionaries of partitions that a scan may use.
#include <memory>
#include <optional>
#include <utility>

#include "query-engine/scan/block_place.h"
#include "query-engine/scan/scan.h"
#include "storage/dictionary/anonymous_names.h"
#include "storage/dictionary/partition_dictionary.h"

namespace perfleet {

Result<std::shared_ptr<const PartitionStacks>> Scan::partition_stacks(const Partition& partition,
                                                                      std::uint64_t node_count_max,
                                                                      std::size_t session_index) const {
    if (selection_.is_exact) {
        return std::shared_ptr<const PartitionStacks>{};
    }
    const auto left_out = [&](const Error& error) -> Result<std::shared_ptr<const PartitionStacks>> {
        damage_->add_note(session_index, "dictionary of partition " + std::to_string(partition.bucket.value) + "/" +
                                             std::to_string(partition.retention_class) + "/" +
                                             std::to_string(partition.shard) + ": " + error.message +
                                             "; the definitions of its sessions are read from their blocks");
        return std::shared_ptr<const PartitionStacks>{};
    };
    const auto bytes = store_->dictionary(partition);
    if (!bytes.ok()) {
        return is_store_damage(bytes.error()) ? left_out(bytes.error()) : Error{bytes.error()};
    }
    if (!bytes->has_value() || peek_node_count_untrusted(**bytes) > node_count_max) {
        return std::shared_ptr<const PartitionStacks>{};
    }
    const Result<PartitionDictionary> decoded = decode_dictionary_untrusted(**bytes);
    if (!decoded.ok()) {
        return left_out(decoded.error());
    }
    Result<EpochDictionary> dictionary = epoch_dictionary_of(*decoded);
    if (!dictionary.ok()) {
        return left_out(dictionary.error());
    }
    if (selection_.is_anonymous) {
        anonymise(*dictionary);
    }
    return std::shared_ptr<const PartitionStacks>{
        new PartitionStacks{partition, dictionary_checksum(**bytes), std::move(*dictionary)}};
}

Result<std::optional<std::vector<std::uint32_t>>> Scan::stack_map(std::size_t session_index, EpochNumber epoch,
                                                                  const PartitionStacks& stacks) const {
    using Nodes = std::optional<std::vector<std::uint32_t>>;
    const SessionRecord& session = sessions_[session_index].record;
    const auto bytes = store_->stack_map({stacks.partition, session.target, session.session, epoch});
    if (!bytes.ok() && !is_store_damage(bytes.error())) {
        return Error{bytes.error()};
    }
    if (bytes.ok() && !bytes->has_value()) {
        return Nodes{};
    }
    Result<StackMap> map = bytes.ok() ? decode_stack_map_untrusted(**bytes) : Result<StackMap>{bytes.error()};
    if (map.ok() && (map->dictionary_checksum != stacks.checksum || map->definitions.epoch != epoch ||
                     !covers_all(session_index, stacks.partition, map->definitions, defines_stacks))) {
        return Nodes{};
    }
    if (map.ok()) {
        for (const std::uint32_t node : map->nodes) {
            if (node != 0 && node >= stacks.dictionary.stack_count()) {
                map = Error{ErrorCode::kInvalid, "map of stacks: a node that its dictionary doesn't have"};
                break;
            }
        }
    }
    if (!map.ok()) {
        damage_->add_note(session_index, "session " + session_hex(session.session) + ", epoch " +
                                             std::to_string(epoch.value) + ": " + map.error().message +
                                             "; its definitions are read from their blocks");
        return Nodes{};
    }
    return Nodes{std::move(map->nodes)};
}

}  // namespace perfleet
