#include "storage/engine/testing/faulty_disk.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/engine/testing/broken_store.h"
#include "storage/engine/testing/disk_journal.h"
#include "storage/store/keyed_store.h"

namespace perfleet {

using rocksdb::DirFsyncOptions;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

std::string name_of(const std::string& path) { return std::filesystem::path{path}.filename().string(); }

std::string read_text(const std::string& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

struct FaultyDisk::State {
    State(const FaultPlan& with, Power at_crash) : plan{with}, power{at_crash} {}

    // Before each change; the lock is held. Not ok when the power is gone.
    [[nodiscard]] IOStatus begin_change() {
        read_plan_file();
        if (is_off) {
            return gone();
        }
        if (++changes == plan.crash_at) {
            take_power();
            return gone();
        }
        return IOStatus::OK();
    }

    [[nodiscard]] static IOStatus gone() { return IOStatus::IOError("the power is gone (fault plan)"); }

    void take_power() {
        if (power == Power::kKillsProcess) {
            ::kill(::getpid(), SIGKILL);
        }
        is_off = true;
    }

    void set(const FaultPlan& next) {
        plan = next;
        syncs = 0;
        writes = 0;
    }

    void read_plan_file() {
        struct ::stat now {};
        if (plan_file.empty() || ::stat(plan_file.c_str(), &now) != 0 ||
            (now.st_ino == seen.st_ino && now.st_size == seen.st_size && now.st_mtim.tv_sec == seen.st_mtim.tv_sec &&
             now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec)) {
            return;
        }
        seen = now;
        auto next = parse_fault_plan(read_text(plan_file));
        if (next.ok()) {
            next->breakage = plan.breakage;
            set(*next);
        }
    }

    // How many of the bytes are taken; less than all with an error.
    [[nodiscard]] IOStatus begin_append(const std::string& name, std::size_t size_bytes, std::size_t& taken) {
        const std::lock_guard lock{mutex};
        taken = 0;
        if (IOStatus status = begin_change(); !status.ok()) {
            return status;
        }
        if ((plan.files & file_type_of(name)) != 0 && plan.write.is_due(++writes)) {
            return IOStatus::IOError(name + ": Input/output error (fault plan)");
        }
        taken = size_bytes;
        if (plan.room_size_bytes != FaultPlan::kAnyRoom) {
            taken = std::min<std::uint64_t>(plan.room_size_bytes, size_bytes);
            plan.room_size_bytes -= taken;
        }
        if (taken < size_bytes) {
            IOStatus full = IOStatus::NoSpace(name + ": No space left on device (fault plan)");
            full.SetRetryable(true);
            return full;
        }
        return IOStatus::OK();
    }

    [[nodiscard]] IOStatus begin_sync(const std::string& name) {
        if (IOStatus status = begin_change(); !status.ok()) {
            return status;
        }
        if ((plan.files & file_type_of(name)) != 0 && plan.sync.is_due(++syncs)) {
            return IOStatus::IOError(name + ": Input/output error while syncing (fault plan)");
        }
        return IOStatus::OK();
    }

    mutable std::mutex mutex;
    FaultPlan plan;
    Power power;
    std::string plan_file;
    struct ::stat seen {};
    bool is_off = false;
    std::uint64_t changes = 0;
    std::uint64_t syncs = 0;  // that the plan is about
    std::uint64_t writes = 0;
    std::unique_ptr<DiskJournal> journal;  // while a store is open
};

namespace {

using SharedState = std::shared_ptr<FaultyDisk::State>;

class FaultyFile final : public rocksdb::FSWritableFileOwnerWrapper {
public:
    FaultyFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::string name, SharedState state)
        : FSWritableFileOwnerWrapper{std::move(file)}, name_{std::move(name)}, state_{std::move(state)} {}

    IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* context) override {
        std::size_t taken = 0;
        IOStatus status = state_->begin_append(name_, data.size(), taken);
        if (taken > 0) {
            IOStatus appended = FSWritableFileOwnerWrapper::Append(Slice{data.data(), taken}, options, context);
            if (!appended.ok()) {
                return appended;
            }
            size_bytes_ += taken;
        }
        return status;
    }
    IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                    IODebugContext* context) override {
        return Append(data, options, context);
    }
    IOStatus Truncate(std::uint64_t size_bytes, const IOOptions& options, IODebugContext* context) override {
        size_bytes_ = size_bytes;
        return FSWritableFileOwnerWrapper::Truncate(size_bytes, options, context);
    }
    // Space without content: no byte of it is there before Truncate() has made the file so large.
    IOStatus Allocate(std::uint64_t offset, std::uint64_t size_bytes, const IOOptions& options,
                      IODebugContext* context) override {
        {
            const std::lock_guard lock{state_->mutex};
            if (IOStatus status = state_->begin_change(); !status.ok()) {
                return status;
            }
            if (size_bytes > state_->plan.room_size_bytes) {
                return IOStatus::NoSpace(name_ + ": No space left on device (fault plan)");
            }
            if (state_->plan.room_size_bytes != FaultPlan::kAnyRoom) {
                state_->plan.room_size_bytes -= size_bytes;
            }
        }
        return FSWritableFileOwnerWrapper::Allocate(offset, size_bytes, options, context);
    }
    IOStatus Sync(const IOOptions&, IODebugContext*) override { return sync(); }
    IOStatus Fsync(const IOOptions&, IODebugContext*) override { return sync(); }
    IOStatus RangeSync(std::uint64_t, std::uint64_t, const IOOptions&, IODebugContext*) override {
        return IOStatus::OK();  // promises nothing
    }

private:
    // After one that failed the file says that it is synced but never is, as pages that couldn't be written are given
    // up.
    IOStatus sync() {
        const std::uint64_t size_bytes = size_bytes_;
        const std::lock_guard lock{state_->mutex};
        IOStatus status = state_->begin_sync(name_);
        if (!status.ok()) {
            has_failed_ = true;
        } else if (!has_failed_ && state_->journal != nullptr) {
            state_->journal->synced(name_, size_bytes);
        }
        return status;
    }

    std::string name_;
    SharedState state_;
    std::atomic<std::uint64_t> size_bytes_{0};
    bool has_failed_ = false;
};

class FaultyFolder final : public rocksdb::FSDirectoryWrapper {
public:
    FaultyFolder(std::unique_ptr<rocksdb::FSDirectory>&& folder, SharedState state)
        : FSDirectoryWrapper{std::move(folder)}, state_{std::move(state)} {}

    IOStatus Fsync(const IOOptions&, IODebugContext*) override { return sync(); }
    IOStatus FsyncWithDirOptions(const IOOptions&, IODebugContext*, const DirFsyncOptions&) override { return sync(); }

private:
    IOStatus sync() {
        const std::lock_guard lock{state_->mutex};
        IOStatus status = state_->begin_sync("folder");
        if (status.ok() && state_->journal != nullptr) {
            state_->journal->folder_synced();
        }
        return status;
    }

    SharedState state_;
};

class FaultyFileSystem final : public rocksdb::FileSystemWrapper {
public:
    explicit FaultyFileSystem(SharedState state)
        : FileSystemWrapper{rocksdb::FileSystem::Default()}, state_{std::move(state)} {}

    const char* Name() const override { return "perfleet.FaultyFileSystem"; }

    IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* context) override {
        const std::lock_guard lock{state_->mutex};
        if (IOStatus status = state_->begin_change(); !status.ok()) {
            return status;
        }
        if (state_->journal != nullptr) {
            state_->journal->create(name_of(path));
        }
        std::unique_ptr<rocksdb::FSWritableFile> file;
        IOStatus status = FileSystemWrapper::NewWritableFile(path, options, &file, context);
        if (status.ok()) {
            *result = std::make_unique<FaultyFile>(std::move(file), name_of(path), state_);
        }
        return status;
    }

    IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                          std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext* context) override {
        std::unique_ptr<rocksdb::FSDirectory> folder;
        IOStatus status = FileSystemWrapper::NewDirectory(path, options, &folder, context);
        if (status.ok()) {
            *result = std::make_unique<FaultyFolder>(std::move(folder), state_);
        }
        return status;
    }

    IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                        IODebugContext* context) override {
        const std::lock_guard lock{state_->mutex};
        if (IOStatus status = state_->begin_change(); !status.ok()) {
            return status;
        }
        if (state_->journal != nullptr) {
            const std::string held = std::filesystem::exists(to) ? state_->journal->hold() : std::string{};
            if (!held.empty()) {
                std::error_code error;
                std::filesystem::create_hard_link(to, held, error);
            }
            state_->journal->rename(name_of(from), name_of(to), held);
        }
        return FileSystemWrapper::RenameFile(from, to, options, context);
    }

    IOStatus DeleteFile(const std::string& path, const IOOptions& options, IODebugContext* context) override {
        const std::lock_guard lock{state_->mutex};
        if (IOStatus status = state_->begin_change(); !status.ok()) {
            return status;
        }
        std::error_code error;
        const std::uint64_t size_bytes = std::filesystem::file_size(path, error);
        if (!error && state_->plan.room_size_bytes != FaultPlan::kAnyRoom) {
            state_->plan.room_size_bytes += size_bytes;
        }
        if (error || state_->journal == nullptr) {
            return FileSystemWrapper::DeleteFile(path, options, context);
        }
        const std::string held = state_->journal->hold();
        state_->journal->remove(name_of(path), held);
        return FileSystemWrapper::RenameFile(path, held, options, context);
    }

    IOStatus GetFreeSpace(const std::string& path, const IOOptions& options, std::uint64_t* size_bytes,
                          IODebugContext* context) override {
        IOStatus status = FileSystemWrapper::GetFreeSpace(path, options, size_bytes, context);
        const std::lock_guard lock{state_->mutex};
        state_->read_plan_file();
        *size_bytes = std::min(*size_bytes, state_->plan.room_size_bytes);
        return status;
    }

private:
    SharedState state_;
};

}  // namespace

FaultyDisk::FaultyDisk(const FaultPlan& plan, Power power) : state_{std::make_shared<State>(plan, power)} {}

FaultyDisk::~FaultyDisk() = default;

void FaultyDisk::set_plan(const FaultPlan& plan) {
    const std::lock_guard lock{state_->mutex};
    state_->set(plan);
}

void FaultyDisk::follow(const std::string& path) {
    const std::lock_guard lock{state_->mutex};
    state_->plan_file = path;
    state_->read_plan_file();
}

void FaultyDisk::crash() {
    const std::lock_guard lock{state_->mutex};
    state_->take_power();
}

std::uint64_t FaultyDisk::change_count() const {
    const std::lock_guard lock{state_->mutex};
    return state_->changes;
}

Result<std::unique_ptr<Store>> FaultyDisk::open_store(const std::string& directory, const StoreOptions& options) {
    FaultPlan plan;
    {
        const std::lock_guard lock{state_->mutex};
        state_->journal.reset();
        plan = state_->plan;
        state_->journal = PERFLEET_TRY(DiskJournal::begin(directory, plan));
        state_->is_off = false;
    }
    const std::shared_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(std::make_shared<FaultyFileSystem>(state_));
    auto engine =
        PERFLEET_TRY(open_rocksdb_writer_engine(directory, env, options.memory_size_bytes, options.reserve_size_bytes));
    auto store = PERFLEET_TRY(open_keyed_store(break_engine(std::move(engine), plan.breakage), directory, options));
    return break_store(std::move(store), plan.breakage);
}

Result<std::unique_ptr<Store>> open_store_on_faulty_disk(const std::string& directory, const StoreOptions& options) {
    const auto setting = [](const char* name) -> std::string {
        const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
        return value == nullptr ? "" : value;
    };
    const std::string file = setting("PERFLEET_FAULTS_FILE");
    auto plan = parse_fault_plan(setting("PERFLEET_FAULTS"));
    if (plan.ok() && !file.empty() && std::filesystem::exists(file)) {
        plan = parse_fault_plan(read_text(file));
    }
    if (!plan.ok()) {
        return plan.error();
    }
    // Stays until the process ends: the store holds on to its parts only.
    FaultyDisk disk{*plan, FaultyDisk::Power::kKillsProcess};
    if (!file.empty()) {
        disk.follow(file);
    }
    return disk.open_store(directory, options);
}

}  // namespace perfleet
