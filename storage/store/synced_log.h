// What the writer has synced of its newest write-ahead log, in a file beside it: RocksDB's manifest states that of
// finished logs only, so an end of the newest one could vanish unnoticed. And the losses that were found in logs, in
// another file, for the logs themselves are deleted.
//
// Both are text. `SYNCED` is one line, written in place after each sync and not synced itself: after a power loss it is
// an older one. So it never states more than is on disk. `LOST-LOGS` has a line for each loss.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct SyncedLog {
    std::uint64_t number = 0;
    std::uint64_t size_bytes = 0;
    std::string time;  // UTC
};

[[nodiscard]] std::string log_file_name(std::uint64_t number);

// Where it can't be written the one before stays, which states less.
void write_synced_log(const std::string& directory, std::uint64_t number, std::uint64_t size_bytes);
// Nothing where there is none, or none that can be read.
[[nodiscard]] std::optional<SyncedLog> read_synced_log(const std::string& directory);
// Durable: before what it names is deleted. Errors: kIo and the like.
[[nodiscard]] Result<Done> forget_synced_log(const std::string& directory);

// The size of the synced log now, if it is shorter than it was; 0 also where it is gone and no later log follows it. A
// log that is followed by another may have been deleted because its contents are in a table file.
[[nodiscard]] std::optional<std::uint64_t> short_size_bytes(const std::string& directory, const SyncedLog& synced);

// Durable, once for each text.
[[nodiscard]] Result<Done> record_log_loss(const std::string& directory, const std::string& loss);
[[nodiscard]] std::vector<std::string> recorded_log_losses(const std::string& directory);

}  // namespace perfleet
