// What the writer has synced of its write-ahead logs, in a file beside them: RocksDB's manifest states none of that, so
// the end of a log, or a whole one, could vanish unnoticed. And the losses that were found in logs, in another file,
// for the logs themselves are deleted.
//
// Both are text, one line each log or loss: storage/FORMAT.md. `SYNCED` is written in place after each sync and not
// synced itself: after a power loss it is an older one. So it never states more than is on disk.
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
    std::string time;                  // UTC
    std::uint32_t first_checksum = 0;  // of its first record; 0: not known
    bool is_another = false;           // the file of that name is one of another store or time
};

[[nodiscard]] std::string log_file_name(std::uint64_t number);

// What is on disk now: of log `number` so much, of those before it everything. `logs` is what was written last, at
// first the log with which the writer began, and is brought up to date. Where the file can't be written the one before
// stays, which states less.
void write_synced_logs(const std::string& directory, std::uint64_t number, std::uint64_t size_bytes,
                       std::vector<SyncedLog>& logs);
// Ascending; none where there is no such file, or nothing in it can be read.
[[nodiscard]] std::vector<SyncedLog> read_synced_logs(const std::string& directory);
// Durable: before what it names is deleted. Errors: kIo and the like.
[[nodiscard]] Result<Done> forget_synced_logs(const std::string& directory);

struct LogFaults {
    // Those that are shorter than they were, with the size that they have now; 0 where one is gone, or where something
    // else stands in its place, of another store or time, or not a file. That is seen of logs that were never synced,
    // too: each goes on behind what is in table files, and behind the log before it. Not those whose contents are in
    // table files: RocksDB deletes these. Ascending.
    std::vector<SyncedLog> logs;
    std::string gap;  // a sentence where the logs' sync marks say that more was on disk than manifest and logs hold
};
[[nodiscard]] LogFaults find_log_faults(const std::string& directory);

// Names of the logs in whose places something else stands.
[[nodiscard]] std::vector<std::string> other_logs(const std::string& directory);

// Durable, once for each text.
[[nodiscard]] Result<Done> record_log_loss(const std::string& directory, const std::string& loss);
[[nodiscard]] std::vector<std::string> recorded_log_losses(const std::string& directory);

}  // namespace perfleet
