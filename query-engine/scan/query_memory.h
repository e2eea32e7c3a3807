// Limits the memory that a query takes for what it reads and counts: batch records, dictionaries, sums, names, rows of
// the answer. Everything that grows accounts for its memory by a MemoryShare. Between blocks, epochs, threads and rows
// the query calls check(), and stops with its error. Sizes are in bytes and approximate: what a single block needs at
// once is bounded by its own limits.
//
// Threads: any. A MemoryPool limits all queries of one process together. Above its limit, queries that hold more than
// an equal part end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "query-engine/limits/query_limits.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class MemoryPool {
public:
    explicit MemoryPool(std::size_t size_bytes_max) : size_bytes_max_{size_bytes_max} {}
    [[nodiscard]] std::size_t size_bytes_max() const { return size_bytes_max_; }

private:
    friend class QueryMemory;
    [[nodiscard]] bool has_too_large(std::size_t size_bytes) const {
        return size_bytes_ > size_bytes_max_ && size_bytes > size_bytes_max_ / query_count_;
    }

    std::size_t size_bytes_max_;
    std::atomic<std::size_t> size_bytes_{0};
    std::atomic<std::size_t> query_count_{0};
};

class QueryMemory : NonCopyable {
public:
    // Borrows the pool, if there is one; all shares end before it does.
    explicit QueryMemory(std::size_t size_bytes_max = limits::kQueryMemorySizeBytes, MemoryPool* pool = nullptr)
        : size_bytes_max_{size_bytes_max}, pool_{pool} {
        if (pool_ != nullptr) {
            ++pool_->query_count_;
        }
    }
    ~QueryMemory() {
        if (pool_ != nullptr) {
            --pool_->query_count_;
        }
    }

    [[nodiscard]] std::size_t size_bytes_max() const { return size_bytes_max_; }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
    // Once true it stays true: a result that was cut short must not be taken for an answer.
    [[nodiscard]] bool is_exceeded() const {
        if (size_bytes_ > size_bytes_max_) {
            excess_ = Excess::kOfQuery;
        } else if (excess_ == Excess::kNone && pool_ != nullptr && pool_->has_too_large(size_bytes_)) {
            excess_ = Excess::kOfAll;
        }
        return excess_ != Excess::kNone;
    }
    // True: postpone what isn't needed now.
    [[nodiscard]] bool is_half_full() const { return size_bytes_ > size_bytes_max_ / 2; }

    // kTooLarge; the message names the options that help.
    [[nodiscard]] Error exceeded() const {
        if (excess_ == Excess::kOfAll) {
            return Error{ErrorCode::kTooLarge,
                         "all queries together need more memory than this query process may "
                         "take: try again later, or select less (--select, --from, --until)"};
        }
        return Error{ErrorCode::kTooLarge, "the query needs more memory than --memory " +
                                               std::to_string(size_bytes_max_ >> 20U) +
                                               "m: raise that, or select less (--select, --session, --from, --until)"};
    }
    [[nodiscard]] Result<Done> check() const { return is_exceeded() ? Result<Done>{exceeded()} : Done{}; }

private:
    friend class MemoryShare;
    enum class Excess : std::uint8_t { kNone, kOfQuery, kOfAll };

    void change(std::size_t before, std::size_t after) {
        size_bytes_ += after - before;
        if (pool_ != nullptr) {
            pool_->size_bytes_ += after - before;
        }
    }

    std::size_t size_bytes_max_;
    MemoryPool* pool_;
    std::atomic<std::size_t> size_bytes_{0};
    mutable std::atomic<Excess> excess_{Excess::kNone};
};

// The memory of one holder, accounted to its query. One thread at a time. Borrows the query's memory.
class MemoryShare {
public:
    explicit MemoryShare(QueryMemory& memory) : memory_{&memory} {}
    MemoryShare(MemoryShare&& other) noexcept
        : memory_{other.memory_}, size_bytes_{std::exchange(other.size_bytes_, 0)} {}
    MemoryShare& operator=(MemoryShare&& other) noexcept {
        set(0);
        memory_ = other.memory_;
        size_bytes_ = std::exchange(other.size_bytes_, 0);
        return *this;
    }
    MemoryShare(const MemoryShare&) = delete;
    MemoryShare& operator=(const MemoryShare&) = delete;
    ~MemoryShare() { set(0); }

    void set(std::size_t size_bytes) {
        if (size_bytes != size_bytes_) {
            memory_->change(std::exchange(size_bytes_, size_bytes), size_bytes);
        }
    }
    void add(std::size_t size_bytes) { set(size_bytes_ + size_bytes); }
    // Whether the whole query's memory is exceeded.
    [[nodiscard]] bool is_exceeded() const { return memory_->is_exceeded(); }
    [[nodiscard]] Result<Done> check() const { return memory_->check(); }

private:
    QueryMemory* memory_;
    std::size_t size_bytes_ = 0;
};

}  // namespace perfleet
