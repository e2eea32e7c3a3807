// Distinguishes two kinds of damage of a write-ahead log: an end that was being written during a power loss, which was
// never acknowledged, and bytes that had been synced. RocksDB can't: both are a record whose checksum doesn't match.
//
// Every group of changes carries a sync mark: the sequence number up to which the log was known to be synced, and the
// last number in the log before it, because some changes go to no log. A separate mark follows each sync. So the
// records after a damage show how much was synced, and the beginning of a log shows whether the end of the one before
// is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct LogDamage {
    std::string file;                // its name in the folder
    std::uint64_t offset_bytes = 0;  // of the record that is damaged, cut short or missing
    bool was_synced = false;         // false: an unfinished end that was never acknowledged
};

// The first damage of the folder's logs, oldest log first; nothing if there is none. Logs of a live writer may look cut
// short. Errors: kIo.
[[nodiscard]] Result<std::optional<LogDamage>> find_log_damage(const std::string& directory);

// A sentence: which file, from which offset, and what is known of the lost contents.
[[nodiscard]] std::string describe_log_loss(const std::string& directory, const LogDamage& damage);

// The recorded losses, and what the logs' sync marks show beside them, one sentence each.
[[nodiscard]] std::vector<std::string> log_losses(const std::string& directory);

// Cuts off the unfinished end of the logs, which was never acknowledged. The caller holds the folder's lock. If synced
// bytes are damaged or missing, nothing is cut. The file is also kept under its name plus `.damaged`, and the loss is
// recorded (storage/engine/rocksdb/synced_log.h). The result is then true: RocksDB must skip what it can't read.
// Errors: kIo and the like.
[[nodiscard]] Result<bool> cut_log_tail(const std::string& directory);

}  // namespace perfleet
