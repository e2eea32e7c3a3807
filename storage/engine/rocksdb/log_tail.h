// Tells two damages of a write-ahead log apart: an end that was being written when the power went, which nobody was
// promised, and bytes that had been synced. RocksDB can't: both are a record whose checksum doesn't match.
//
// Every group of changes carries a sync mark: the sequence number up to which the log was known to be synced, and the
// last one that went to the log before it, for some changes go to none. A mark of its own follows each sync. So what
// stands behind the damage tells how far the disk had promised, and a log's beginning whether the end of the one before
// is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct LogDamage {
    std::string file;                // its name in the folder
    std::uint64_t offset_bytes = 0;  // of the record that is damaged or cut short, or that is missing
    bool was_synced = false;         // else it is an end that nobody was promised
};

// The first damage of the folder's logs, in the order of writing; nothing when there is none. Logs of a live writer may
// seem cut short. Errors: kIo.
[[nodiscard]] Result<std::optional<LogDamage>> find_log_damage(const std::string& directory);

// One sentence: which file, from where on, and what is known of what it held.
[[nodiscard]] std::string describe_log_loss(const std::string& directory, const LogDamage& damage);

// Cuts the logs off where what nobody was promised begins. The caller holds the folder's lock. Where something that was
// promised is damaged or gone, nothing is cut, the file is kept beside under its name with `.damaged` behind it, and
// the loss is recorded (storage/engine/rocksdb/synced_log.h). True then: RocksDB must skip what it can't read. Errors:
// kIo and the like.
[[nodiscard]] Result<bool> cut_log_tail(const std::string& directory);

}  // namespace perfleet
