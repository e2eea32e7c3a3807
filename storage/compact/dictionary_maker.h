// Makes the dictionary of a partition and the maps of its epochs from the definitions of its sessions. Their meaning:
// storage/FORMAT.md.
//
// A map names the definitions that it was made from and the dictionary that it refers to, so if either changes
// meanwhile, the map is ignored, never wrong. Makes them again if definitions were added since: the same definitions
// give the same bytes, and what is stored already isn't written again. Memory: as PartitionNodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/compact/partition_maker.h"
#include "storage/compact/policy.h"
#include "storage/dictionary/partition_nodes.h"
#include "storage/model/keys.h"
#include "storage/model/row_cover.h"

namespace perfleet {

class DictionaryMaker : private PartitionMaker {
public:
    DictionaryMaker(const KeyedReads& reads, const Partition& partition, const DictionaryPolicy& policy, Commit commit,
                    OnStep on_step)
        : PartitionMaker{reads, partition, std::move(commit), std::move(on_step)},
          policy_{policy},
          nodes_{policy.nodes_max} {}

    // Call it once.
    [[nodiscard]] Result<Outcome> make_dictionary();

private:
    // An epoch that gets a map; in the order of PartitionNodes::Made::maps.
    struct Epoch {
        SessionName session;
        RowCover definitions;
    };

    // These return false when the work ends.
    [[nodiscard]] Result<bool> add_session(const SessionName& session);
    [[nodiscard]] Result<bool> write_dictionary(const std::string& bytes);
    [[nodiscard]] Result<bool> write_maps(std::uint32_t checksum, std::vector<std::vector<std::uint32_t>> maps);

    // Nothing if a definition is damaged or missing, or definitions contradict each other.
    [[nodiscard]] Result<std::optional<EpochDictionary>> read_definitions(const SessionName& session,
                                                                          const RowCover& cover) const;

    DictionaryPolicy policy_;
    PartitionNodes nodes_;
    std::vector<Epoch> epochs_;
};

}  // namespace perfleet
