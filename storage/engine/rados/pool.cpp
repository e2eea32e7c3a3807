#include "storage/engine/rados/pool.h"

#include <dlfcn.h>
#include <rados/librados.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace perfleet {
namespace {

// librados is loaded when it is first needed: linking it would cost each command 12 MB and 20 ms, and each package its
// dependencies. Threads: any.

// clang-format off
#define PERFLEET_LIBRADOS(F) \
    F(rados_aio_cancel) F(rados_aio_create_completion2) F(rados_aio_get_return_value) F(rados_aio_read_op_operate) \
    F(rados_aio_release) F(rados_aio_remove) F(rados_aio_wait_for_complete_and_cb) F(rados_aio_write_op_operate) \
    F(rados_conf_read_file) F(rados_conf_set) F(rados_connect) F(rados_create) F(rados_create_read_op) \
    F(rados_create_write_op) F(rados_getxattrs_end) F(rados_getxattrs_next) F(rados_ioctx_create) F(rados_ioctx_destroy) F(rados_ioctx_set_namespace) \
    F(rados_omap_get_end) F(rados_omap_get_next2) \
    F(rados_read_op_getxattrs) F(rados_read_op_omap_get_vals2) F(rados_read_op_omap_get_vals_by_keys2) \
    F(rados_read_op_read) F(rados_release_read_op) F(rados_release_write_op) \
    F(rados_set_pool_full_try) F(rados_shutdown) \
    F(rados_write_op_assert_exists) F(rados_write_op_cmpxattr) F(rados_write_op_create) \
    F(rados_write_op_omap_rm_keys2) F(rados_write_op_omap_set2) \
    F(rados_write_op_setxattr) F(rados_write_op_write)
// clang-format on

struct Librados {
#define PERFLEET_LIBRADOS_MEMBER(name) decltype(&::name) name = nullptr;
    PERFLEET_LIBRADOS(PERFLEET_LIBRADOS_MEMBER)
#undef PERFLEET_LIBRADOS_MEMBER
};

inline constexpr const char* kLibradosFile = "librados.so.2";

std::optional<Librados> load() {
    void* const file = ::dlopen(kLibradosFile, RTLD_NOW | RTLD_LOCAL);  // never unloaded: its threads run on
    Librados functions;
    bool has_all = file != nullptr;
#define PERFLEET_LIBRADOS_LOAD(name)                                                                       \
    functions.name = has_all ? reinterpret_cast<decltype(functions.name)>(::dlsym(file, #name)) : nullptr; \
    has_all = has_all && functions.name != nullptr;
    PERFLEET_LIBRADOS(PERFLEET_LIBRADOS_LOAD)
#undef PERFLEET_LIBRADOS_LOAD
    return has_all ? std::optional{functions} : std::nullopt;
}

// Null if it can't be loaded.
const Librados* librados() {
    static const std::optional<Librados> loaded = load();
    return loaded ? &*loaded : nullptr;
}

constexpr const char* kHead = "head";
constexpr std::uint64_t kPageKeysMax = 1'024;  // the default of an OSD
constexpr const char* kOpTimeoutS = "30";      // otherwise calls block forever below min_size
constexpr const char* kConnectTimeoutS = "30";
constexpr std::chrono::milliseconds kLookForStop{100};

using Clock = std::chrono::steady_clock;

struct ReleaseWriteOp {
    void operator()(void* op) const { librados()->rados_release_write_op(op); }
};
using WriteOp = std::unique_ptr<void, ReleaseWriteOp>;

struct ReleaseReadOp {
    void operator()(void* op) const { librados()->rados_release_read_op(op); }
};
using ReadOp = std::unique_ptr<void, ReleaseReadOp>;

// A page begins after a name that librados cuts at a NUL, and keys contain many: 0 becomes 1 1, and 1 becomes 1 2,
// which keeps the order.
std::string escaped(std::string_view key) {
    std::string bytes;
    bytes.reserve(key.size() * 2);
    for (const char byte : key) {
        if (static_cast<unsigned char>(byte) <= 1) {
            bytes.push_back('\1');
        }
        bytes.push_back(static_cast<unsigned char>(byte) <= 1 ? static_cast<char>(byte + 1) : byte);
    }
    return bytes;
}

std::string unescaped(std::string_view bytes) {
    std::string key;
    key.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const bool is_escape = bytes[i] == '\1' && i + 1 < bytes.size();
        key.push_back(is_escape ? static_cast<char>(bytes[++i] - 1) : bytes[i]);
    }
    return key;
}

// The head among the attributes; closes the iterator.
std::string take_head(rados_xattrs_iter_t attributes) {
    std::string head;
    if (attributes == nullptr) {
        return head;
    }
    const char* name = nullptr;
    const char* value = nullptr;
    std::size_t size = 0;
    while (librados()->rados_getxattrs_next(attributes, &name, &value, &size) == 0 && name != nullptr) {
        if (std::string_view{name} == kHead) {
            head.assign(value, size);
        }
    }
    librados()->rados_getxattrs_end(attributes);
    return head;
}

Error connect_error(const RadosPlace& place, int result) {
    const std::string user = "client." + place.user;
    Error error = error_from_errno(-result, place.text() + ": connecting to the cluster as " + user);
    switch (-result) {
        case ETIMEDOUT:
            error.code = ErrorCode::kUnavailable;
            error.message += "; no monitor answers (mon host in its configuration)";
            break;
        case ENOENT: error.message += "; its configuration names no monitor (mon host)"; break;
        case EACCES:
        case EPERM:
            error.message +=
                "; there is no keyring with its key, or the cluster has another (ceph auth get " + user + ")";
            break;
        default: break;
    }
    return error;
}

}  // namespace

// An asynchronous operation: its buffers must outlive it.
class RadosPool::Operation {
public:
    explicit Operation(RadosPool& pool) : pool_{pool} {
        (void)librados()->rados_aio_create_completion2(this, &on_end, &completion_);
    }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    ~Operation() {
        if (is_begun_) {
            (void)pool_.await(*this);
        }
        librados()->rados_aio_release(completion_);
    }

    // `begun` is the return value of the librados call that started it.
    void begin(int begun) {
        is_begun_ = begun >= 0;
        result_ = begun;
    }
    [[nodiscard]] rados_completion_t completion() const { return completion_; }

private:
    friend class RadosPool;
    static void on_end(rados_completion_t, void* operation) {
        auto& one = *static_cast<Operation*>(operation);
        const std::lock_guard lock{one.mutex_};
        one.has_ended_ = true;
        one.ended_.notify_all();
    }

    RadosPool& pool_;
    rados_completion_t completion_ = nullptr;
    bool is_begun_ = false;  // started and not awaited yet
    int result_ = 0;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool has_ended_ = false;
};

class RadosPool::Write final : public RadosWrite {
public:
    Write(RadosPool& pool, std::string object) : pool_{pool}, object_{std::move(object)}, operation_{pool} {}

    [[nodiscard]] Result<Done> await() override {
        const int written = pool_.await(operation_);
        return written < 0 ? Result<Done>{pool_.error(written, object_, "writing")} : Done{};
    }

    [[nodiscard]] Operation& operation() { return operation_; }
    [[nodiscard]] const std::string& object() const { return object_; }

private:
    RadosPool& pool_;
    std::string object_;
    Operation operation_;
};

RadosPool::RadosPool(const RadosPlace& place, const std::atomic<bool>* is_stopping)
    : where_{place.text()}, user_{place.user}, is_stopping_{is_stopping} {}

bool RadosPool::is_over(Clock::time_point began) {
    if (is_stopping_ == nullptr || !*is_stopping_) {
        return false;
    }
    const auto now = Clock::now();
    Clock::rep seen = 0;
    (void)stop_seen_.compare_exchange_strong(seen, now.time_since_epoch().count());
    const Clock::time_point since{Clock::duration{stop_seen_}};
    return now >= since + kStopWithin && now >= began + kStoppedWait;
}

int RadosPool::await(Operation& operation) {
    if (!std::exchange(operation.is_begun_, false)) {
        return operation.result_;
    }
    const auto began = Clock::now();
    bool is_given_up = false;
    {
        std::unique_lock lock{operation.mutex_};
        while (!is_given_up &&
               !operation.ended_.wait_for(lock, kLookForStop, [&operation] { return operation.has_ended_; })) {
            is_given_up = is_over(began);
        }
    }
    if (is_given_up) {
        (void)librados()->rados_aio_cancel(io_, operation.completion_);
    }
    (void)librados()->rados_aio_wait_for_complete_and_cb(operation.completion_);
    operation.result_ = librados()->rados_aio_get_return_value(operation.completion_);
    if (is_given_up && operation.result_ == -ECANCELED) {
        operation.result_ = -ETIMEDOUT;  // not a failed comparison
    }
    return operation.result_;
}

Error RadosPool::error(int result, const std::string& object, const char* doing) const {
    const std::string what = where_ + ": " + doing + " " + object;
    switch (-result) {
        case ENOENT: return {ErrorCode::kNotFound, what + ": there is no such object"};
        case ECANCELED:
        case EEXIST: return {ErrorCode::kConflict, what + ": another process has changed it"};
        case ETIMEDOUT:
            return {ErrorCode::kUnavailable,
                    stop_seen_ != 0 ? what + ": no answer before the end of this process"
                                    : what + ": no answer in " + kOpTimeoutS + " s (ceph health detail says why)"};
        case EDQUOT:
        case ENOSPC: return {ErrorCode::kFull, what + ": the pool or the cluster is full"};
        case EACCES:
        case EPERM:
            return {ErrorCode::kPermission,
                    what + ": the user's capabilities don't allow it (ceph auth get client." + user_ + ")"};
        default: return error_from_errno(-result, what);
    }
}

Result<std::unique_ptr<RadosPool>> RadosPool::connect(const RadosPlace& place, const std::atomic<bool>* is_stopping) {
    const std::string where = place.text();
    if (place.pool.empty() || place.user.empty()) {
        return Error{ErrorCode::kUsage, where + ": names no pool; rados:[USER@]POOL[/NAMESPACE]"};
    }
    if (librados() == nullptr) {
        return Error{ErrorCode::kUnsupported, where + ": " + kLibradosFile + " can't be loaded; install librados2"};
    }
    std::unique_ptr<RadosPool> pool{new RadosPool{place, is_stopping}};
    if (const int created = librados()->rados_create(&pool->cluster_, place.user.c_str()); created < 0) {
        pool->cluster_ = nullptr;
        return error_from_errno(-created, where + ": librados");
    }
    rados_t cluster = pool->cluster_;
    if (const int read = librados()->rados_conf_read_file(cluster, nullptr); read < 0) {
        const char* const named = std::getenv("CEPH_CONF");
        return error_from_errno(-read, where + ": the cluster's configuration can't be read (" +
                                           (named != nullptr ? named : "/etc/ceph/ceph.conf") +
                                           "; --ceph-conf names another)");
    }
    (void)librados()->rados_conf_set(cluster, "rados_osd_op_timeout", kOpTimeoutS);
    (void)librados()->rados_conf_set(cluster, "rados_mon_op_timeout", kConnectTimeoutS);
    (void)librados()->rados_conf_set(cluster, "client_mount_timeout", kConnectTimeoutS);
    if (const int connected = librados()->rados_connect(cluster); connected < 0) {
        return connect_error(place, connected);
    }
    if (const int opened = librados()->rados_ioctx_create(cluster, place.pool.c_str(), &pool->io_); opened < 0) {
        pool->io_ = nullptr;
        return opened == -ENOENT
                   ? Error{ErrorCode::kNotFound, where + ": there is no pool " + place.pool +
                                                     "; ceph osd pool create " + place.pool + " makes one"}
                   : error_from_errno(-opened, where + ": opening the pool");
    }
    librados()->rados_ioctx_set_namespace(pool->io_, place.name_space.c_str());
    librados()->rados_set_pool_full_try(pool->io_);  // makes a write on a full cluster fail instead of blocking
    return pool;
}

RadosPool::~RadosPool() {
    if (io_ != nullptr) {
        librados()->rados_ioctx_destroy(io_);
    }
    if (cluster_ != nullptr) {
        librados()->rados_shutdown(cluster_);
    }
}

std::unique_ptr<RadosWrite> RadosPool::begin_change(const std::string& object, const RadosChange& change) {
    auto begun = std::make_unique<Write>(*this, object);
    const WriteOp write{librados()->rados_create_write_op()};
    if (change.is_unguarded) {
        librados()->rados_write_op_create(write.get(), LIBRADOS_CREATE_IDEMPOTENT, nullptr);
    } else if (change.head_before) {
        librados()->rados_write_op_assert_exists(write.get());
        librados()->rados_write_op_cmpxattr(write.get(), kHead, LIBRADOS_CMPXATTR_OP_EQ, change.head_before->data(),
                                            change.head_before->size());
    } else {
        librados()->rados_write_op_create(write.get(), LIBRADOS_CREATE_EXCLUSIVE, nullptr);
    }
    if (!change.is_unguarded) {
        librados()->rados_write_op_setxattr(write.get(), kHead, change.head.data(), change.head.size());
    }
    if (!change.body.empty()) {
        librados()->rados_write_op_write(write.get(), change.body.data(), change.body.size(), change.offset);
    }
    std::vector<std::string> keys;
    for (const std::string& key : change.removed) {
        keys.push_back(escaped(key));
    }
    for (const auto& [key, value] : change.index) {
        keys.push_back(escaped(key));
    }
    std::vector<const char*> key_bytes;
    std::vector<std::size_t> key_sizes;
    for (const std::string& key : keys) {
        key_bytes.push_back(key.data());
        key_sizes.push_back(key.size());
    }
    std::vector<const char*> values;
    std::vector<std::size_t> value_sizes;
    for (const auto& [key, value] : change.index) {
        values.push_back(value.data());
        value_sizes.push_back(value.size());
    }
    const std::size_t removed = change.removed.size();
    if (removed != 0) {
        librados()->rados_write_op_omap_rm_keys2(write.get(), key_bytes.data(), key_sizes.data(), removed);
    }
    if (!values.empty()) {
        librados()->rados_write_op_omap_set2(write.get(), key_bytes.data() + removed, values.data(),
                                             key_sizes.data() + removed, value_sizes.data(), values.size());
    }
    Operation& operation = begun->operation();
    operation.begin(librados()->rados_aio_write_op_operate(write.get(), io_, operation.completion(),
                                                           begun->object().c_str(), nullptr,
                                                           change.is_forced ? LIBRADOS_OPERATION_FULL_FORCE : 0));
    return begun;
}

Result<std::optional<std::string>> RadosPool::head(const std::string& object) {
    const ReadOp read{librados()->rados_create_read_op()};
    rados_xattrs_iter_t attributes = nullptr;
    int attributes_result = 0;
    librados()->rados_read_op_getxattrs(read.get(), &attributes, &attributes_result);
    const int result = operate(read.get(), object);
    std::string head = take_head(attributes);
    if (result == -ENOENT) {
        return std::optional<std::string>{};
    }
    if (result < 0 || attributes_result < 0) {
        return error(result < 0 ? result : attributes_result, object, "reading");
    }
    return std::optional{std::move(head)};
}

int RadosPool::operate(void* read_operation, const std::string& object) {
    Operation operation{*this};
    operation.begin(
        librados()->rados_aio_read_op_operate(read_operation, io_, operation.completion(), object.c_str(), 0));
    return await(operation);
}

Result<std::optional<RadosPool::IndexRead>> RadosPool::read_index(
    const std::string& object, const std::function<void(std::string_view key, std::string_view value)>& on_value) {
    std::optional<IndexRead> whole;
    std::string after;
    unsigned char more = 1;
    while (more != 0) {
        const ReadOp read{librados()->rados_create_read_op()};
        rados_xattrs_iter_t attributes = nullptr;
        rados_omap_iter_t values = nullptr;
        int attributes_result = 0;
        int values_result = 0;
        librados()->rados_read_op_getxattrs(read.get(), &attributes, &attributes_result);
        librados()->rados_read_op_omap_get_vals2(read.get(), after.c_str(), "", kPageKeysMax, &values, &more,
                                                 &values_result);
        const int result = operate(read.get(), object);
        std::string head = take_head(attributes);
        char* key = nullptr;
        char* bytes = nullptr;
        std::size_t key_size = 0;
        std::size_t size = 0;
        while (result >= 0 && values_result >= 0 && values != nullptr &&
               librados()->rados_omap_get_next2(values, &key, &bytes, &key_size, &size) == 0 && key != nullptr) {
            after.assign(key, key_size);
            on_value(unescaped(after), {bytes, size});
        }
        if (values != nullptr) {
            librados()->rados_omap_get_end(values);
        }
        if (result == -ENOENT) {
            return std::optional<IndexRead>{};
        }
        if (result < 0 || attributes_result < 0 || values_result < 0) {
            const int failure = result < 0 ? result : std::min(attributes_result, values_result);
            return error(failure, object, "reading");
        }
        if (!whole) {
            whole = IndexRead{std::move(head), true};
        } else {
            whole->is_one_moment = whole->is_one_moment && whole->head == head;
        }
    }
    return whole;
}

Result<std::optional<std::string>> RadosPool::index_value(const std::string& object, std::string_view key) {
    const ReadOp read{librados()->rados_create_read_op()};
    const std::string bytes = escaped(key);
    const char* const key_bytes = bytes.data();
    const std::size_t key_size = bytes.size();
    rados_omap_iter_t values = nullptr;
    int values_result = 0;
    librados()->rados_read_op_omap_get_vals_by_keys2(read.get(), &key_bytes, 1, &key_size, &values, &values_result);
    const int result = operate(read.get(), object);
    std::optional<std::string> found;
    char* found_key = nullptr;
    char* value = nullptr;
    std::size_t found_key_size = 0;
    std::size_t size = 0;
    if (values != nullptr) {
        if (librados()->rados_omap_get_next2(values, &found_key, &value, &found_key_size, &size) == 0 &&
            found_key != nullptr) {
            found.emplace(value, size);
        }
        librados()->rados_omap_get_end(values);
    }
    const int failure = std::min(result, values_result);
    return failure < 0 ? Result<std::optional<std::string>>{error(failure, object, "reading")} : std::move(found);
}

Result<Done> RadosPool::read(std::span<RadosRead> reads) {
    struct Running {
        explicit Running(RadosPool& pool) : operation{pool} {}
        ReadOp read{librados()->rados_create_read_op()};
        std::vector<std::size_t> sizes;
        std::vector<int> results;
        Operation operation;  // last member: ends before its buffers are destroyed
    };
    std::vector<std::unique_ptr<Running>> running;
    for (RadosRead& one : reads) {
        auto& run = *running.emplace_back(std::make_unique<Running>(*this));
        run.sizes.resize(one.extents.size());
        run.results.resize(one.extents.size());
        one.bytes.resize(one.extents.size());
        for (std::size_t i = 0; i < one.extents.size(); ++i) {
            one.bytes[i].resize(one.extents[i].size_bytes);
            librados()->rados_read_op_read(run.read.get(), one.extents[i].offset, one.bytes[i].size(),
                                           one.bytes[i].data(), &run.sizes[i], &run.results[i]);
        }
        run.operation.begin(librados()->rados_aio_read_op_operate(run.read.get(), io_, run.operation.completion(),
                                                                  one.object.c_str(), 0));
    }
    int failure = 0;
    const std::string* failed = nullptr;
    for (std::size_t i = 0; i < running.size(); ++i) {
        Running& run = *running[i];
        int result = await(run.operation);
        for (std::size_t j = 0; j < run.sizes.size() && result >= 0; ++j) {
            result = run.results[j] < 0 ? run.results[j] : run.sizes[j] != reads[i].bytes[j].size() ? -EIO : 0;
        }
        if (result < 0 && failed == nullptr) {
            failure = result;
            failed = &reads[i].object;
        }
    }
    return failed != nullptr ? Result<Done>{error(failure, *failed, "reading")} : Done{};
}

Result<Done> RadosPool::remove(const std::string& object) {
    Operation operation{*this};
    operation.begin(librados()->rados_aio_remove(io_, object.c_str(), operation.completion()));
    const int removed = await(operation);
    return removed < 0 && removed != -ENOENT ? Result<Done>{error(removed, object, "removing")} : Done{};
}

}  // namespace perfleet
