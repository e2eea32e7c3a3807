// Checks a store's folder for damage: every table file, log, record, block, dictionary and seal.
//
// Reads only; works on a stopped folder and beside a live gateway, whose newest writes it may miss. For a store on
// RADOS, which checks its objects itself: records, blocks, dictionaries and seals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/keys.h"

namespace perfleet {

struct PartitionContent {
    Partition partition;
    std::uint64_t session_count = 0;
    std::uint64_t batch_count = 0;
    std::uint64_t block_count = 0;
    std::uint64_t row_count = 0;   // without definitions
    std::uint64_t size_bytes = 0;  // of keys and values
};

struct StoreDamage {
    std::string place;                 // a file, or a key in words
    std::string what;                  // what is wrong with it
    std::string lost;                  // what can't be read because of it
    std::uint64_t lost_row_count = 0;  // as far as known
};

struct StoreCheck {
    std::uint64_t format_version = 0;  // 0: the store couldn't be opened
    std::uint64_t shard_count = 0;     // likewise
    std::vector<PartitionContent> partitions;
    std::uint64_t session_count = 0;
    std::uint64_t image_count = 0;
    std::uint64_t image_size_bytes = 0;
    std::uint64_t dropped_partition_count = 0;
    std::uint64_t expired_row_count = 0;  // definitions left out, as in the partitions' counts
    std::uint64_t table_file_count = 0;
    std::uint64_t table_file_size_bytes = 0;
    std::vector<StoreDamage> damage;  // at most kStoreDamageMax
    bool has_more_damage = false;
};

inline constexpr std::size_t kStoreDamageMax = 10'000;

// With `verify` it checks table files and logs, decodes every record and block in full, recomputes each batch's seal
// from its blocks, and builds each epoch's dictionary (contradicting definitions of a collector aren't damage). Without
// `verify` it lists only damage that prevents listing. Errors: kNotFound, kPermission, kInvalid (not a store's folder);
// a damaged store is no error.
[[nodiscard]] Result<StoreCheck> check_store(const std::string& where, bool verify,
                                             const ProgressReport& progress = {});

}  // namespace perfleet
