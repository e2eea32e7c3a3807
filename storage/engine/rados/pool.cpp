#include "storage/engine/rados/pool.h"

#include <algorithm>
#include <cerrno>

#include "storage/engine/rados/loaded_librados.h"

namespace perfleet {
namespace {

constexpr const char* kHead = "head";
constexpr std::uint64_t kPageKeysMax = 1'024;  // as an OSD gives at once by default
constexpr const char* kOpTimeoutS = "30";      // without it calls wait for ever below min_size
constexpr const char* kConnectTimeoutS = "10";

struct WriteOp {
    rados_write_op_t op = librados()->rados_create_write_op();
    WriteOp() = default;
    WriteOp(const WriteOp&) = delete;
    WriteOp& operator=(const WriteOp&) = delete;
    ~WriteOp() { librados()->rados_release_write_op(op); }
};

struct ReadOp {
    rados_read_op_t op = librados()->rados_create_read_op();
    ReadOp() = default;
    ReadOp(const ReadOp&) = delete;
    ReadOp& operator=(const ReadOp&) = delete;
    ~ReadOp() { librados()->rados_release_read_op(op); }
};

// Names end at a NUL where a page begins, and keys are full of them: 0 becomes 1 1, 1 becomes 1 2, which keeps the
// order.
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

}  // namespace

RadosPool::RadosPool(std::string where) : where_{std::move(where)} {}

Error RadosPool::error(int result, const std::string& object, const char* doing) const {
    const std::string what = where_ + ": " + doing + " " + object;
    switch (-result) {
        case ENOENT: return {ErrorCode::kNotFound, what + ": there is no such object"};
        case ECANCELED:
        case EEXIST: return {ErrorCode::kConflict, what + ": somebody else has changed it"};
        case ETIMEDOUT:
            return {ErrorCode::kUnavailable,
                    what + ": no answer in " + kOpTimeoutS + " s (ceph health detail says why)"};
        case EDQUOT:
        case ENOSPC: return {ErrorCode::kFull, what + ": the pool or the cluster is full"};
        case EACCES:
        case EPERM:
            return {ErrorCode::kPermission,
                    what + ": the user's capabilities don't allow it (ceph auth get client.NAME)"};
        default: return error_from_errno(-result, what);
    }
}

Result<std::unique_ptr<RadosPool>> RadosPool::connect(const RadosPlace& place) {
    const std::string where = place.text();
    if (place.pool.empty() || place.user.empty()) {
        return Error{ErrorCode::kUsage, where + ": names no pool; rados:[USER@]POOL[/NAMESPACE]"};
    }
    if (librados() == nullptr) {
        return Error{ErrorCode::kUnsupported, where + ": " + kLibradosFile + " can't be loaded; install librados2"};
    }
    std::unique_ptr<RadosPool> pool{new RadosPool{where}};
    if (const int created = librados()->rados_create(&pool->cluster_, place.user.c_str()); created < 0) {
        pool->cluster_ = nullptr;
        return error_from_errno(-created, where + ": librados");
    }
    rados_t cluster = pool->cluster_;
    if (const int read = librados()->rados_conf_read_file(cluster, nullptr); read < 0) {
        return error_from_errno(-read, where + ": no ceph.conf can be read (CEPH_CONF names another than /etc/ceph's)");
    }
    (void)librados()->rados_conf_set(cluster, "rados_osd_op_timeout", kOpTimeoutS);
    (void)librados()->rados_conf_set(cluster, "rados_mon_op_timeout", kConnectTimeoutS);
    (void)librados()->rados_conf_set(cluster, "client_mount_timeout", kConnectTimeoutS);
    if (const int connected = librados()->rados_connect(cluster); connected < 0) {
        Error error = error_from_errno(-connected, where + ": connecting to the cluster as client." + place.user);
        error.code = connected == -ETIMEDOUT ? ErrorCode::kUnavailable : error.code;
        return error;
    }
    if (const int opened = librados()->rados_ioctx_create(cluster, place.pool.c_str(), &pool->io_); opened < 0) {
        pool->io_ = nullptr;
        return opened == -ENOENT
                   ? Error{ErrorCode::kNotFound, where + ": there is no pool " + place.pool +
                                                     "; ceph osd pool create " + place.pool + " makes one"}
                   : error_from_errno(-opened, where + ": opening the pool");
    }
    librados()->rados_ioctx_set_namespace(pool->io_, place.name_space.c_str());
    librados()->rados_set_pool_full_try(pool->io_);  // an error, where a write would wait until the cluster has room
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

Result<Done> RadosPool::change(const std::string& object, const RadosChange& change) {
    const WriteOp write;
    if (change.is_unguarded) {
        librados()->rados_write_op_create(write.op, LIBRADOS_CREATE_IDEMPOTENT, nullptr);
    } else if (change.head_before) {
        librados()->rados_write_op_assert_exists(write.op);
        librados()->rados_write_op_cmpxattr(write.op, kHead, LIBRADOS_CMPXATTR_OP_EQ, change.head_before->data(),
                                            change.head_before->size());
    } else {
        librados()->rados_write_op_create(write.op, LIBRADOS_CREATE_EXCLUSIVE, nullptr);
    }
    if (!change.is_unguarded) {
        librados()->rados_write_op_setxattr(write.op, kHead, change.head.data(), change.head.size());
    }
    if (!change.body.empty()) {
        librados()->rados_write_op_write(write.op, change.body.data(), change.body.size(), change.offset);
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
        librados()->rados_write_op_omap_rm_keys2(write.op, key_bytes.data(), key_sizes.data(), removed);
    }
    if (!values.empty()) {
        librados()->rados_write_op_omap_set2(write.op, key_bytes.data() + removed, values.data(),
                                             key_sizes.data() + removed, value_sizes.data(), values.size());
    }
    const int written = librados()->rados_write_op_operate2(write.op, io_, object.c_str(), nullptr, 0);
    return written < 0 ? Result<Done>{error(written, object, "writing")} : Done{};
}

Result<std::optional<std::string>> RadosPool::head(const std::string& object) {
    std::string head(256, '\0');
    const int size = librados()->rados_getxattr(io_, object.c_str(), kHead, head.data(), head.size());
    if (size == -ENOENT) {
        return std::optional<std::string>{};
    }
    if (size < 0) {
        return error(size, object, "reading");
    }
    head.resize(static_cast<std::size_t>(size));
    return std::optional{std::move(head)};
}

Result<std::optional<RadosPool::IndexRead>> RadosPool::read_index(
    const std::string& object, const std::function<void(std::string_view key, std::string_view value)>& on_value) {
    std::optional<IndexRead> whole;
    std::string after;
    unsigned char more = 1;
    while (more != 0) {
        const ReadOp read;
        rados_xattrs_iter_t attributes = nullptr;
        rados_omap_iter_t values = nullptr;
        int attributes_result = 0;
        int values_result = 0;
        librados()->rados_read_op_getxattrs(read.op, &attributes, &attributes_result);
        librados()->rados_read_op_omap_get_vals2(read.op, after.c_str(), "", kPageKeysMax, &values, &more,
                                                 &values_result);
        const int result = librados()->rados_read_op_operate(read.op, io_, object.c_str(), 0);
        std::string head;
        const char* name = nullptr;
        const char* value = nullptr;
        std::size_t size = 0;
        while (attributes != nullptr && librados()->rados_getxattrs_next(attributes, &name, &value, &size) == 0 &&
               name != nullptr) {
            if (std::string_view{name} == kHead) {
                head.assign(value, size);
            }
        }
        char* key = nullptr;
        char* bytes = nullptr;
        std::size_t key_size = 0;
        while (result >= 0 && values_result >= 0 && values != nullptr &&
               librados()->rados_omap_get_next2(values, &key, &bytes, &key_size, &size) == 0 && key != nullptr) {
            after.assign(key, key_size);
            on_value(unescaped(after), {bytes, size});
        }
        if (attributes != nullptr) {
            librados()->rados_getxattrs_end(attributes);
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

Result<Done> RadosPool::read(std::span<RadosRead> reads) {
    struct Running {
        ReadOp read;
        rados_completion_t completion = nullptr;
        std::vector<std::size_t> sizes;
        std::vector<int> results;
    };
    std::vector<std::unique_ptr<Running>> running;
    int failure = 0;
    const std::string* failed = nullptr;
    for (RadosRead& one : reads) {
        auto& run = *running.emplace_back(std::make_unique<Running>());
        run.sizes.resize(one.extents.size());
        run.results.resize(one.extents.size());
        one.bytes.resize(one.extents.size());
        for (std::size_t i = 0; i < one.extents.size(); ++i) {
            one.bytes[i].resize(one.extents[i].size_bytes);
            librados()->rados_read_op_read(run.read.op, one.extents[i].offset, one.bytes[i].size(), one.bytes[i].data(),
                                           &run.sizes[i], &run.results[i]);
        }
        (void)librados()->rados_aio_create_completion2(nullptr, nullptr, &run.completion);
        if (const int begun =
                librados()->rados_aio_read_op_operate(run.read.op, io_, run.completion, one.object.c_str(), 0);
            begun < 0) {
            librados()->rados_aio_release(run.completion);
            run.completion = nullptr;
            failure = begun;
            failed = &one.object;
            break;
        }
    }
    for (std::size_t i = 0; i < running.size(); ++i) {
        Running& run = *running[i];
        if (run.completion == nullptr) {
            continue;
        }
        (void)librados()->rados_aio_wait_for_complete(run.completion);
        int result = librados()->rados_aio_get_return_value(run.completion);
        librados()->rados_aio_release(run.completion);
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
    const int removed = librados()->rados_remove(io_, object.c_str());
    return removed < 0 && removed != -ENOENT ? Result<Done>{error(removed, object, "removing")} : Done{};
}

}  // namespace perfleet
