// Objects of one RADOS pool, as segments and directories need them: a body, an ordered index, and a head, which every
// change compares. The only code that calls librados.
//
// Threads: any. Errors, which name the object: kNotFound (no such object), kConflict (the head wasn't the expected one;
// nothing was changed), kUnavailable (no answer in time; the change may or may not have been made), kFull, kPermission,
// kIo.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "storage/engine/rados/place.h"

namespace perfleet {

// A change of one object, made as a whole.
struct RadosChange {
    std::optional<std::string> head_before;  // expected head; empty: the object must not exist
    std::string head;
    std::uint64_t offset = 0;
    std::string_view body;                     // written at the offset
    std::map<std::string, std::string> index;  // set
    std::vector<std::string> removed;          // of the index
    bool is_unguarded = false;                 // the object has no head; it is created if it is missing
    bool is_forced = false;                    // done even if the pool or the cluster is full
};

struct RadosExtent {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
};

struct RadosRead {
    std::string object;
    std::vector<RadosExtent> extents;
    std::vector<std::string> bytes;  // one for each; filled in
};

// A running change; its destructor waits for the end. To be destroyed before its pool.
class RadosWrite : NonCopyable {
public:
    virtual ~RadosWrite() = default;

    [[nodiscard]] virtual Result<Done> await() = 0;  // once
};

class RadosPool : NonCopyable {
public:
    // Once `is_stopping` (or null) is set, no call waits for the cluster longer than this.
    static constexpr std::chrono::milliseconds kStopWithin{4'000};  // in all, from when that was seen,
    static constexpr std::chrono::milliseconds kStoppedWait{250};   // but each operation at most this long

    // Uses /etc/ceph/ceph.conf, or $CEPH_CONF. Errors: kNotFound (no such pool), kPermission, kUnavailable, kInvalid.
    [[nodiscard]] static Result<std::unique_ptr<RadosPool>> connect(const RadosPlace& place,
                                                                    const std::atomic<bool>* is_stopping = nullptr);
    ~RadosPool();

    [[nodiscard]] Result<Done> change(const std::string& object, const RadosChange& change) {
        return begin_change(object, change)->await();
    }
    // Borrows nothing after it returns. Operations on one object are done in the order in which they began.
    [[nodiscard]] std::unique_ptr<RadosWrite> begin_change(const std::string& object, const RadosChange& change);
    // Nothing if there is no such object.
    [[nodiscard]] Result<std::optional<std::string>> head(const std::string& object);

    // The index, ascending, with the head at the beginning, and whether the head was the same at the end; nothing if
    // there is no such object.
    struct IndexRead {
        std::string head;
        bool is_one_moment = true;
    };
    [[nodiscard]] Result<std::optional<IndexRead>> read_index(
        const std::string& object, const std::function<void(std::string_view key, std::string_view value)>& on_value);

    // The value of one key of the index; nothing if the key doesn't exist. Errors: kNotFound (no such object).
    [[nodiscard]] Result<std::optional<std::string>> index_value(const std::string& object, std::string_view key);

    // Reads all extents at the same time.
    [[nodiscard]] Result<Done> read(std::span<RadosRead> reads);
    [[nodiscard]] Result<Done> remove(const std::string& object);  // Done also if it doesn't exist

    [[nodiscard]] const std::string& where() const { return where_; }

private:
    class Operation;
    class Write;

    RadosPool(const RadosPlace& place, const std::atomic<bool>* is_stopping);
    [[nodiscard]] Error error(int result, const std::string& object, const char* doing) const;
    [[nodiscard]] int await(Operation& operation);
    [[nodiscard]] int operate(void* read_operation, const std::string& object);
    [[nodiscard]] bool is_over(std::chrono::steady_clock::time_point began);

    std::string where_;
    std::string user_;
    const std::atomic<bool>* is_stopping_;
    std::atomic<std::chrono::steady_clock::rep> stop_seen_{0};  // 0: not yet
    void* cluster_ = nullptr;
    void* io_ = nullptr;
};

}  // namespace perfleet
