#include "storage/engine/rocksdb/rocksdb_engine.h"

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <set>

#include "storage/engine/rocksdb/disk_reserve.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/log_format.h"
#include "storage/engine/rocksdb/rocksdb_database.h"
#include "storage/engine/rocksdb/rocksdb_options.h"
#include "storage/engine/rocksdb/rocksdb_slice.h"
#include "storage/engine/rocksdb/synced_log.h"

namespace perfleet {
namespace {

// After all tables: writing it overlaps no table file.
constexpr const char* kNobodysKey = "\xff";
constexpr std::size_t kKeptBatchSizeBytes = 4U << 20;

Error closed(const std::string& directory) {
    return {ErrorCode::kUnavailable, directory + ": is closed after a failure and can't be opened yet"};
}

// Holds the database, so that a reader may switch to a newly opened one meanwhile. RocksDB's iterator shows one state,
// also when a secondary instance catches up.
class RocksdbCursor final : public EngineCursor {
public:
    RocksdbCursor(const std::string& directory, std::shared_ptr<RocksdbDatabase> held, const KeyRange& range,
                  const std::set<EngineFile>& without)
        : directory_{directory}, held_{std::move(held)}, range_{range}, end_{slice(range_.end)}, without_{without} {
        rocksdb::ReadOptions options;
        options.iterate_upper_bound = &end_;
        options.fill_cache = false;  // a scan reads each block only once
        if (!without_.empty()) {
            options.table_filter = [this](const rocksdb::TableProperties& table) {
                return !without_.contains(table.orig_file_number);
            };
        }
        at_.reset(held_->db == nullptr ? nullptr : held_->db->NewIterator(options));
    }

    void seek(std::string_view first) override {
        range_.begin = first;
        key_.clear();
        is_begun_ = false;
    }

    [[nodiscard]] Result<bool> next() override {
        if (at_ == nullptr) {
            return closed(directory_);
        }
        if (std::exchange(is_begun_, true)) {
            at_->Next();
        } else {
            at_->Seek(slice(range_.begin));
        }
        if (at_->Valid()) {
            key_.assign(at_->key().data(), at_->key().size());
            value_ = view(at_->value());
            return true;
        }
        if (const rocksdb::Status status = at_->status(); !status.ok()) {
            return rocksdb_error(status, directory_ + ": " +
                                             (key_.empty() ? "from " + describe_key(range_.begin) + " on"
                                                           : "after " + describe_key(key_)));
        }
        return false;
    }

private:
    const std::string& directory_;
    std::shared_ptr<RocksdbDatabase> held_;
    KeyRange range_;
    rocksdb::Slice end_;
    std::set<EngineFile> without_;
    std::unique_ptr<rocksdb::Iterator> at_;
    bool is_begun_ = false;
};

// The common part of writer and reader. Reads hold the database, so that a reader may switch to a new one meanwhile.
class RocksdbEngine : public Engine {
public:
    RocksdbEngine(std::string directory, std::shared_ptr<RocksdbDatabase> opened)
        : directory_{std::move(directory)}, opened_{std::move(opened)} {}

    [[nodiscard]] std::shared_ptr<const KnownDamage> damage() const override {
        const std::shared_ptr<RocksdbDatabase> held = opened();
        return {held, &held->known};
    }

    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override {
        const std::shared_ptr<RocksdbDatabase> held = opened();
        if (held->db == nullptr) {
            return closed(directory());
        }
        std::string value;
        const rocksdb::Status status = held->db->Get(rocksdb::ReadOptions{}, slice(key), &value);
        if (status.IsNotFound()) {
            return std::optional<std::string>{};
        }
        if (!status.ok()) {
            return rocksdb_error(status, directory_ + ": " + describe_key(key));
        }
        return std::optional{std::move(value)};
    }

    [[nodiscard]] std::unique_ptr<EngineCursor> cursor(const KeyRange& range,
                                                       const std::set<EngineFile>& without) const override {
        return std::make_unique<RocksdbCursor>(directory_, opened(), range, without);
    }

    [[nodiscard]] Result<std::uint64_t> size_bytes(const KeyRange& range) const override {
        const std::shared_ptr<RocksdbDatabase> held = opened();
        if (held->db == nullptr) {
            return closed(directory());
        }
        rocksdb::SizeApproximationOptions options;
        options.include_memtables = true;
        options.include_files = true;
        const rocksdb::Range bytes{slice(range.begin), slice(range.end)};
        std::uint64_t size_bytes = 0;
        const rocksdb::Status status =
            held->db->GetApproximateSizes(options, held->db->DefaultColumnFamily(), &bytes, 1, &size_bytes);
        if (!status.ok()) {
            return rocksdb_error(status, directory_ + ": size from " + describe_key(range.begin) + " on");
        }
        return size_bytes;
    }

protected:
    [[nodiscard]] const std::string& directory() const { return directory_; }

    [[nodiscard]] std::shared_ptr<RocksdbDatabase> opened() const {
        const std::lock_guard lock{mutex_};
        return opened_;
    }

    void replace(std::shared_ptr<RocksdbDatabase> opened) {
        const std::lock_guard lock{mutex_};
        opened_.swap(opened);
    }

    [[nodiscard]] Result<Done> result(const rocksdb::Status& status, const std::string& what) const {
        return status.ok() ? Result<Done>{Done{}} : rocksdb_error(status, directory_ + ": " + what);
    }

private:
    std::string directory_;
    mutable std::mutex mutex_;
    std::shared_ptr<RocksdbDatabase> opened_;
};

class RocksdbWriter final : public RocksdbEngine {
public:
    RocksdbWriter(std::string directory, std::shared_ptr<RocksdbDatabase> opened, DiskReserve reserve)
        : RocksdbEngine{std::move(directory), std::move(opened)},
          folder_{this->directory()},
          reserve_{std::move(reserve)} {
        begin_logs();
    }

    [[nodiscard]] Result<Done> refresh() override { return Done{}; }

    // RocksDB can resume by itself after some failures, but not after all; and after a failed sync a log may never
    // reach the disk, even if later syncs succeed. Reopening writes everything still readable of it to a table file,
    // durably.
    [[nodiscard]] Result<bool> recover(GoOn purpose) override {
        const std::optional<Error> before = failure();
        if (!before) {
            const bool needs_reserve = purpose == GoOn::kToStore && reserve_.is_missing();
            PERFLEET_TRY(needs_reserve ? reserve_.make(kRecoverRoomSizeBytes) : Done{});
            return false;
        }
        const std::shared_ptr<rocksdb::Env> env = opened()->env;
        const std::size_t memory_size_bytes = opened()->memory_size_bytes;
        if (before->code == ErrorCode::kFull && !has_room_for(purpose, env_of(env))) {
            return Error{*before};
        }
        auto closed_one = std::make_shared<RocksdbDatabase>();
        closed_one->env = env;
        closed_one->memory_size_bytes = memory_size_bytes;
        replace(std::move(closed_one));
        if (!folder_.take_up(directory())) {
            return gone();
        }
        auto anew = open_to_write(directory(), env, memory_size_bytes, compacts_);
        if (!anew.ok()) {
            folder_.let_go();
            if (anew.error().code != ErrorCode::kBusy) {  // reads or erase() still hold the previous database
                set_failure(anew.error());
            }
            return anew.error();
        }
        replace(std::move(*anew));
        begin_logs();
        set_failure(std::nullopt);
        if (purpose == GoOn::kToStore && reserve_.is_missing()) {
            (void)reserve_.make(0);  // there was space for it; if that is gone again, the next call reports it
        }
        return true;
    }

    // Ignores domain and guard: the folder's lock keeps other writers out, and the whole store is one database.
    [[nodiscard]] Result<Done> write(const Domain&, Guard, const Changes& changes) override {
        return write_changes(changes, true);
    }

    // Writes to the memtable only: a later flush puts it into a table file, after everything before it.
    [[nodiscard]] Result<Done> write_unlogged(const Domain&, Guard, const Changes& changes) override {
        if (reserve_.is_missing()) {
            return Error{ErrorCode::kFull, "the disk is full, and the space reserved for dropping isn't free again"};
        }
        return write_changes(changes, false);
    }

    [[nodiscard]] Result<Done> flush_unlogged() override {
        const auto held = PERFLEET_TRY(working());
        return changed(held->db->Flush(rocksdb::FlushOptions{}), "writing");
    }

    [[nodiscard]] Result<Done> sync() override {
        if (auto before = failure()) {
            return Error{*std::move(before)};
        }
        const std::uint64_t sequence = logged_sequence();
        std::unique_ptr<rocksdb::LogFile> log;  // what it holds before the sync is durable afterwards
        const bool knows_log = db().GetCurrentWalFile(&log).ok();
        if (const rocksdb::Status status = db().SyncWAL(); !status.ok()) {
            return changed(status, "syncing the write-ahead log");
        }
        if (auto there = check_folder(); !there.ok()) {
            set_failure(there.error());
            return there;
        }
        if (sequence != synced_sequence_) {
            synced_sequence_ = sequence;
            if (knows_log) {
                write_synced_logs(directory(), log->LogNumber(), log->SizeFileBytes(), synced_logs_);
            }
            const std::lock_guard lock{logging_};
            rocksdb::WriteBatch batch;
            rocksdb::Status status = batch.PutLogData(sync_mark({sequence, logged_sequence_}));
            if (status.ok()) {
                status = db().Write(rocksdb::WriteOptions{}, &batch);
            }
            (void)changed(status, "writing");  // what was asked for is durable; the next change reports this failure
        }
        return Done{};
    }

    // Unlinks whole files. Other keys share the files of the remaining keys: their deletion goes into a table file of
    // its own, because in a file with newer keys it would overlap everything between, which compaction would then
    // rewrite.
    [[nodiscard]] Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) override {
        const auto held = PERFLEET_TRY(working());
        rocksdb::DB& db = *held->db;
        const rocksdb::Slice begin = slice(range.begin);
        const rocksdb::Slice end = slice(range.end);
        rocksdb::Status status = rocksdb::DeleteFilesInRange(&db, db.DefaultColumnFamily(), &begin, &end, false);
        held->manifest_copier->update();
        if (status.ok()) {
            status = db.Flush(rocksdb::FlushOptions{});
        }
        if (status.ok()) {
            const std::lock_guard lock{logging_};
            status = db.DeleteRange(rocksdb::WriteOptions{}, db.DefaultColumnFamily(), begin, end);
            logged_sequence_ = db.GetLatestSequenceNumber();
        }
        if (status.ok()) {
            status = db.Flush(rocksdb::FlushOptions{});
        }
        if (status.ok()) {
            status = compact(*held, range, is_stopping);
            if (status.IsIncomplete() || status.IsCompactionTooLarge()) {
                return Done{};
            }
            if (status.IsCorruption()) {  // the keys are deleted; only their space isn't given back
                (void)changed(status, "deleting " + describe_key(range.begin));
                return Done{};
            }
        }
        // Readers drop what they had from the old log only when the new log has an entry.
        if (status.ok()) {
            const std::lock_guard lock{logging_};
            status = db.Delete(rocksdb::WriteOptions{}, kNobodysKey);
            logged_sequence_ = db.GetLatestSequenceNumber();
        }
        return changed(status, "deleting " + describe_key(range.begin));
    }

    [[nodiscard]] Result<Done> reclaim(const KeyRange& range, std::atomic<bool>* is_stopping) override {
        const auto held = PERFLEET_TRY(working());
        rocksdb::Status status = held->db->Flush(rocksdb::FlushOptions{});
        if (status.ok()) {
            status = compact(*held, range, is_stopping);
        }
        if (status.IsIncomplete() || status.IsCompactionTooLarge()) {
            return Done{};
        }
        auto reclaimed = changed(status, "compacting " + describe_key(range.begin));
        return status.IsCorruption() ? Done{} : std::move(reclaimed);
    }

private:
    [[nodiscard]] rocksdb::DB& db() { return *opened()->db; }

    // Compacts if there is space for it. Not with lost files: compaction would merge their stand-ins away, and so the
    // way to bring the files back.
    [[nodiscard]] rocksdb::Status compact(const RocksdbDatabase& held, const KeyRange& range,
                                          std::atomic<bool>* is_stopping) const {
        if (!held.known.lost.empty() || !has_room_to_compact(held, range)) {
            return rocksdb::Status::OK();
        }
        const rocksdb::Slice begin = slice(range.begin);
        const rocksdb::Slice end = slice(range.end);
        rocksdb::CompactRangeOptions options;
        options.exclusive_manual_compaction = false;
        options.canceled = is_stopping;
        return held.db->CompactRange(options, &begin, &end);
    }

    [[nodiscard]] Result<Done> write_changes(const Changes& changes, bool is_logged) {
        if (auto before = failure()) {
            return Error{*std::move(before)};
        }
        const std::lock_guard lock{logging_};
        rocksdb::Status status;
        if (is_logged) {
            status = batch_.PutLogData(sync_mark({synced_sequence_, logged_sequence_}));
        }
        for (std::size_t i = 0; i < changes.deletes.size() && status.ok(); ++i) {
            status = batch_.Delete(slice(changes.deletes[i]));
        }
        for (std::size_t i = 0; i < changes.puts.size() && status.ok(); ++i) {
            status = batch_.Put(slice(changes.puts[i].key), slice(changes.puts[i].value));
        }
        if (status.ok()) {
            rocksdb::WriteOptions options;
            options.disableWAL = !is_logged;
            status = db().Write(options, &batch_);
        }
        if (batch_.GetDataSize() > kKeptBatchSizeBytes) {
            batch_ = rocksdb::WriteBatch{};
        }
        batch_.Clear();
        if (status.ok() && is_logged) {
            logged_sequence_ = db().GetLatestSequenceNumber();
        }
        return changed(status, "writing");
    }

    [[nodiscard]] Result<Done> changed(const rocksdb::Status& status, const std::string& what) {
        if (status.ok()) {
            return Done{};
        }
        Error error = rocksdb_error(status, directory() + ": " + what);
        // Compaction has met a damaged table file, and would meet it again; the store is readable without it.
        if (error.code == ErrorCode::kCorrupt) {
            compacts_ = false;
            error.code = ErrorCode::kIo;
        }
        set_failure(error);
        return error;
    }

    // recover() waits until the database is released.
    [[nodiscard]] Result<std::shared_ptr<RocksdbDatabase>> working() const {
        if (auto before = failure()) {
            return *std::move(before);
        }
        auto held = opened();
        return held->db == nullptr ? Result<std::shared_ptr<RocksdbDatabase>>{closed(directory())} : std::move(held);
    }
    [[nodiscard]] std::optional<Error> failure() const {
        const std::lock_guard lock{failing_};
        return failure_;
    }
    void set_failure(std::optional<Error> failure) {
        const std::lock_guard lock{failing_};
        failure_ = std::move(failure);
    }

    // RocksDB can write and sync deleted files without an error, but their contents can't be opened again.
    [[nodiscard]] Result<Done> check_folder() const {
        const bool is_there = PERFLEET_TRY(folder_.is_still_at(directory()));
        return is_there ? Result<Done>{Done{}} : gone();
    }

    [[nodiscard]] Error gone() const {
        return {ErrorCode::kIo, directory() +
                                    ": the store isn't there any more: it was deleted, moved or replaced beneath its "
                                    "writer; put it back, or start the gateway again for a new one"};
    }

    // Compaction writes the remaining keys of these files before it deletes the files. On a nearly full disk that would
    // use up the space that drops need; later compactions give the space back.
    [[nodiscard]] bool has_room_to_compact(const RocksdbDatabase& held, const KeyRange& range) const {
        std::vector<rocksdb::LiveFileMetaData> files;
        held.db->GetLiveFilesMetaData(&files);
        std::uint64_t needed_size_bytes = kRecoverRoomSizeBytes;
        for (const rocksdb::LiveFileMetaData& file : files) {
            needed_size_bytes += file.largestkey >= range.begin && file.smallestkey < range.end ? file.size : 0;
        }
        return has_free(env_of(held.env), directory(), needed_size_bytes);
    }

    [[nodiscard]] bool has_room_for(GoOn purpose, rocksdb::Env& env) {
        if (purpose == GoOn::kToStore) {
            return has_room(env, reserve_.missing_size_bytes());
        }
        return has_room(env, 0) || (reserve_.give_up() && has_room(env, 0));
    }

    // Reopening writes the contents of the logs to a table file. A store that can't be reopened answers no queries, so
    // the open one is kept until there is space.
    [[nodiscard]] bool has_room(rocksdb::Env& env, std::uint64_t more_size_bytes) const {
        return has_free(env, directory(), kRecoverRoomSizeBytes + more_size_bytes + logs_size_bytes(directory()));
    }

    // Earlier logs are in table files already.
    void begin_logs() {
        synced_sequence_ = db().GetLatestSequenceNumber();
        logged_sequence_ = synced_sequence_;
        std::unique_ptr<rocksdb::LogFile> log;
        synced_logs_.clear();
        if (db().GetCurrentWalFile(&log).ok()) {
            synced_logs_.push_back({log->LogNumber(), 0, ""});
        }
    }

    [[nodiscard]] std::uint64_t logged_sequence() const {
        const std::lock_guard lock{logging_};
        return logged_sequence_;
    }

    std::uint64_t synced_sequence_ = 0;  // opening makes everything it finds durable
    std::vector<SyncedLog> synced_logs_;
    mutable std::mutex logging_;         // guards writes, also those of erase()
    rocksdb::WriteBatch batch_;          // empty between writes; keeps its memory, since the kernel clears new pages
    std::uint64_t logged_sequence_ = 0;  // of the last logged change
    HeldFolder folder_;
    mutable std::mutex failing_;    // guards failure_: erase() runs on another thread
    std::optional<Error> failure_;  // while set, nothing is written
    std::atomic<bool> compacts_ = true;
    DiskReserve reserve_;
};

class RocksdbReader final : public RocksdbEngine {
public:
    using RocksdbEngine::RocksdbEngine;

    // A secondary keeps values from the log of an ended writer, even if a later writer has replaced them, so it is
    // reopened after a change of writers.
    [[nodiscard]] Result<Done> refresh() override {
        const std::lock_guard lock{refresh_mutex_};
        const std::shared_ptr<RocksdbDatabase> held = opened();
        if (catch_up(directory(), *held)) {
            return Done{};
        }
        auto anew = PERFLEET_TRY(open_to_read(directory()));
        replace(std::move(anew));
        return Done{};
    }

    [[nodiscard]] Result<bool> recover(GoOn) override { return refusal(); }
    [[nodiscard]] Result<Done> write(const Domain&, Guard, const Changes&) override { return refusal(); }
    [[nodiscard]] Result<Done> write_unlogged(const Domain&, Guard, const Changes&) override { return refusal(); }
    [[nodiscard]] Result<Done> flush_unlogged() override { return refusal(); }
    [[nodiscard]] Result<Done> reclaim(const KeyRange&, std::atomic<bool>*) override { return refusal(); }
    [[nodiscard]] Result<Done> sync() override { return refusal(); }
    [[nodiscard]] Result<Done> erase(const KeyRange&, std::atomic<bool>*) override { return refusal(); }

private:
    [[nodiscard]] Error refusal() const { return {ErrorCode::kUnsupported, directory() + ": is open for reading"}; }

    std::mutex refresh_mutex_;
};

}  // namespace

Result<std::unique_ptr<Engine>> open_rocksdb_writer_engine(const std::string& directory,
                                                           const std::shared_ptr<rocksdb::Env>& env,
                                                           std::size_t memory_size_bytes,
                                                           std::uint64_t reserve_size_bytes) {
    PERFLEET_TRY(prepare_writer_folder(directory));
    DiskReserve reserve{env_of(env), directory, reserve_size_bytes};
    auto opened = open_to_write(directory, env, memory_size_bytes);
    if (opened.ok()) {
        (void)reserve.make(kRecoverRoomSizeBytes);  // without it nothing is stored, and that error says why
    } else if (opened.error().code == ErrorCode::kFull && reserve.give_up()) {
        opened = open_to_write(directory, env, memory_size_bytes);
    }
    if (!opened.ok()) {
        return opened.error();
    }
    return std::unique_ptr<Engine>{std::make_unique<RocksdbWriter>(directory, std::move(*opened), std::move(reserve))};
}

Result<std::unique_ptr<Engine>> open_rocksdb_reader_engine(const std::string& directory) {
    PERFLEET_TRY(check_reader_folder(directory));
    auto opened = PERFLEET_TRY(open_to_read(directory));
    return std::unique_ptr<Engine>{std::make_unique<RocksdbReader>(directory, std::move(opened))};
}

}  // namespace perfleet
