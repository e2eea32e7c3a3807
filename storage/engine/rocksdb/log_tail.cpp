#include "storage/engine/rocksdb/log_tail.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/log_format.h"
#include "storage/engine/rocksdb/synced_log.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLogSizeBytesMax = std::size_t{1} << 40U;         // larger than any log
constexpr std::size_t kMarkRecordSizeBytes = kLogHeaderSizeBytes + 37;  // record of a group that has only a sync mark

// Reads the readable records in order, and keeps the first damage.
class LogScan {
public:
    void read(const std::string& name, std::string_view log) {
        name_ = name;
        is_first_of_log_ = true;
        is_joining_ = false;
        for (std::size_t block = 0; block < log.size(); block += kLogBlockSizeBytes) {
            read_block(block, log.substr(block, kLogBlockSizeBytes));
        }
        if (is_joining_) {
            on_damage(record_offset_);
        }
        previous_name_ = name;
        previous_size_bytes_ = log.size();
    }

    [[nodiscard]] std::optional<LogDamage> damage() const {
        std::optional<LogDamage> damage = damage_;
        if (damage && !has_marks_ && has_records_after_) {
            damage->was_synced = true;  // without marks nothing shows that it wasn't synced
        }
        return damage;
    }

private:
    void read_block(std::size_t block_offset, std::string_view block) {
        std::size_t at = 0;
        while (at + kLogHeaderSizeBytes <= block.size()) {
            const auto record = log_record_in(block.substr(at));
            if (!record) {
                on_damage(is_joining_ ? record_offset_ : block_offset + at);
                is_joining_ = false;
                for (++at; at + kLogHeaderSizeBytes <= block.size() && !log_record_in(block.substr(at));) {
                    ++at;
                }
                continue;
            }
            on_fragment(record->type, block_offset + at, record->payload);
            at += record->size_bytes();
        }
    }

    void on_fragment(Fragment type, std::uint64_t offset_bytes, std::string_view payload) {
        const bool is_first = type == Fragment::kFull || type == Fragment::kFirst;
        if (is_first == is_joining_) {  // a fragment without its first one, or a first one within a record
            on_damage(is_joining_ ? record_offset_ : offset_bytes);
        }
        if (is_first) {
            joined_.clear();
            record_offset_ = offset_bytes;
        } else if (!is_joining_) {
            return;
        }
        joined_ += payload;
        is_joining_ = type == Fragment::kFirst || type == Fragment::kMiddle;
        if (!is_joining_) {
            on_batch(joined_);
        }
    }

    void on_batch(std::string_view batch) {
        const auto group = change_group_in(batch);
        if (!group) {
            return;
        }
        const auto& [sequence, count, mark] = *group;
        const std::uint64_t logged_before = mark ? mark->logged : sequence - 1;
        has_marks_ = has_marks_ || mark;
        if (is_first_of_log_ && !previous_name_.empty()) {
            begin_log(logged_before, mark);
        }
        is_first_of_log_ = false;
        if (damage_) {
            if (!has_records_after_) {
                logged_before_resume_ = logged_before;
                // A lost mark by itself loses no changes.
                is_more_than_a_mark_ =
                    damage_->file != name_ || record_offset_ - damage_->offset_bytes > kMarkRecordSizeBytes;
            }
            has_records_after_ = true;
            if (mark && mark->synced >= first_sequence_of_damage()) {
                damage_->was_synced = true;
            }
        } else {
            next_sequence_ = std::max(next_sequence_, sequence + count);
        }
    }

    // If known: of a log that begins with the damage, and whose predecessors are deleted, only the last number of the
    // damage is known.
    [[nodiscard]] std::uint64_t first_sequence_of_damage() const {
        return next_sequence_ != 0 ? next_sequence_ : logged_before_resume_ + (is_more_than_a_mark_ ? 0 : 1);
    }

    // A writer that opened the store after the damage continued after the changes before it, so it does no harm
    // any more. If logged changes are missing between two logs, whole records at the end of the earlier log are lost.
    void begin_log(std::uint64_t logged_before, const std::optional<SyncMark>& mark) {
        if (damage_ && damage_->file != name_ && !damage_->was_synced &&
            (next_sequence_ == 0 || logged_before < next_sequence_)) {
            damage_.reset();
            has_records_after_ = false;
            next_sequence_ = 0;
        } else if (!damage_ && next_sequence_ != 0 && logged_before >= next_sequence_ && mark &&
                   mark->synced < next_sequence_) {
            damage_ = LogDamage{previous_name_, previous_size_bytes_, false};
        }
    }

    void on_damage(std::uint64_t offset_bytes) {
        if (!damage_) {
            damage_ = LogDamage{name_, offset_bytes, false};
        }
    }

    std::string name_;
    std::string previous_name_;
    std::uint64_t previous_size_bytes_ = 0;
    bool is_first_of_log_ = false;
    std::string joined_;
    bool is_joining_ = false;
    std::uint64_t record_offset_ = 0;
    std::uint64_t next_sequence_ = 0;         // number after the last change before the damage; 0: none was read
    std::uint64_t logged_before_resume_ = 0;  // last number logged before the first record after the damage
    bool is_more_than_a_mark_ = false;
    std::optional<LogDamage> damage_;
    bool has_marks_ = false;
    bool has_records_after_ = false;  // after the damage
};

}  // namespace

Result<std::optional<LogDamage>> find_log_damage(const std::string& directory) {
    LogScan scan;
    for (const std::string& name : log_files(directory)) {
        const fs::path path = fs::path{directory} / name;
        const FileDescriptor file = open_regular_file(path);
        const auto log = file ? read_rest(file.get(), kLogSizeBytesMax) : std::nullopt;
        if (!log) {
            return error_from_errno(errno, path.string() + ": can't read the write-ahead log");
        }
        scan.read(name, *log);
    }
    std::optional<LogDamage> damage = scan.damage();
    for (const SyncedLog& synced : read_synced_logs(directory)) {
        if (damage && damage->file == log_file_name(synced.number) && damage->offset_bytes < synced.size_bytes) {
            damage->was_synced = true;
        }
    }
    const std::vector<SyncedLog> shorter = find_log_faults(directory).logs;
    // If a whole log is missing, the one before it seems to be cut at its end.
    std::error_code error;
    if (!shorter.empty() && (!damage || !damage->was_synced ||
                             damage->offset_bytes == fs::file_size(fs::path{directory} / damage->file, error))) {
        damage = LogDamage{log_file_name(shorter.front().number), shorter.front().size_bytes, true};
    }
    return damage;
}

std::string describe_log_loss(const std::string& directory, const LogDamage& damage) {
    std::error_code error;
    const bool is_there = fs::is_regular_file(fs::path{directory} / damage.file, error);
    std::string text =
        "acknowledged rows are lost: write-ahead log " + damage.file +
        (is_there ? " is damaged or cut short at byte " + std::to_string(damage.offset_bytes) : " is missing");
    for (const SyncedLog& synced : read_synced_logs(directory)) {
        if (log_file_name(synced.number) == damage.file) {
            text += "; " + std::to_string(synced.size_bytes) + " bytes of it were on disk at " + synced.time;
        }
    }
    return text;
}

std::vector<std::string> log_losses(const std::string& directory) {
    std::vector<std::string> losses = recorded_log_losses(directory);
    if (std::string gap = find_log_faults(directory).gap;
        !gap.empty() && std::find(losses.begin(), losses.end(), gap) == losses.end()) {
        losses.push_back(std::move(gap));
    }
    return losses;
}

Result<bool> cut_log_tail(const std::string& directory) {
    const LogFaults faults = find_log_faults(directory);
    if (!faults.gap.empty()) {
        PERFLEET_TRY(record_log_loss(directory, faults.gap));
    }
    for (const SyncedLog& log : faults.logs) {
        if (log.is_another) {  // the log isn't of this store
            const std::string name = log_file_name(log.number);
            PERFLEET_TRY(set_aside(directory, name));
            PERFLEET_TRY(record_log_loss(directory, describe_log_loss(directory, {name, 0, true})));
        }
    }
    auto damage = PERFLEET_TRY(find_log_damage(directory));
    if (!damage.has_value()) {
        return false;
    }
    const LogDamage& at = *damage;
    if (at.was_synced) {
        std::vector<LogDamage> losses{at};
        for (const SyncedLog& log : faults.logs) {
            if (log_file_name(log.number) != at.file) {
                losses.push_back({log_file_name(log.number), log.size_bytes, true});
            }
        }
        for (const LogDamage& loss : losses) {
            PERFLEET_TRY(record_log_loss(directory, describe_log_loss(directory, loss)));
        }
        std::error_code error;  // kept for salvage, if the file system can
        fs::create_hard_link(fs::path{directory} / at.file, fs::path{directory} / (at.file + ".damaged"), error);
        return true;
    }
    const LogFiles logs = log_files(directory);
    for (auto log = logs.find(at.file); log != logs.end(); ++log) {
        const fs::path path = fs::path{directory} / *log;
        std::error_code error;
        fs::resize_file(path, *log == at.file ? at.offset_bytes : 0, error);
        if (error) {
            return error_from_errno(error.value(), path.string());
        }
    }
    return false;
}

}  // namespace perfleet
