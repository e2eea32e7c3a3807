// Records in a file beside the write-ahead logs how much of them was synced. RocksDB's manifest doesn't, so the end of
// a log, or a whole one, could vanish unnoticed. Records losses found in logs in another file, because the logs
// themselves are deleted.
//
// Both are text, one line per log or loss: storage/FORMAT.md. `SYNCED` is written in place after each sync and not
// synced itself: after a power loss it may be an older one. So it never states more than is on disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct SyncedLog {
    std::uint64_t number = 0;
    std::uint64_t size_bytes = 0;
    std::string time;                  // UTC
    std::uint32_t first_checksum = 0;  // of the log's first record; 0: unknown
    bool is_another = false;           // the file with this name belongs to another store or time
};

[[nodiscard]] std::string log_file_name(std::uint64_t number);

// Records what is on disk now: `size_bytes` of log `number`, and all of earlier logs. `logs` is what was last recorded
// (at first the writer's first log); it is updated. If the file can't be written, the old one stays, which states less.
void write_synced_logs(const std::string& directory, std::uint64_t number, std::uint64_t size_bytes,
                       std::vector<SyncedLog>& logs);
// Ascending; empty if there is no such file, or nothing in it can be read.
[[nodiscard]] std::vector<SyncedLog> read_synced_logs(const std::string& directory);
// Deletes the record, durably, before the logs that it names are deleted. Errors: kIo and the like.
[[nodiscard]] Result<Done> forget_synced_logs(const std::string& directory);

struct LogFaults {
    // Logs that are shorter than they were, with their present size; 0: the log is missing, or something else is in its
    // place (a log of another store or time, or not a file). The latter is noticed for logs that were never synced,
    // too, because each log continues the table files and the log before it. Logs whose contents are in table files are
    // left out: RocksDB deletes these. Ascending.
    std::vector<SyncedLog> logs;
    std::string gap;  // a sentence, if the sync marks show that more was on disk than manifest and logs hold
};
[[nodiscard]] LogFaults find_log_faults(const std::string& directory);

// Names of logs in whose place something else is.
[[nodiscard]] std::vector<std::string> other_logs(const std::string& directory);

// Records a loss durably, once for each text.
[[nodiscard]] Result<Done> record_log_loss(const std::string& directory, const std::string& loss);
[[nodiscard]] std::vector<std::string> recorded_log_losses(const std::string& directory);

}  // namespace perfleet
