// An array of zero bytes that only uses memory where it is written: for tables of maximal size that are mostly empty.
//
// A resource. T is a plain value for which zero bytes are a valid initial state.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

template <class T>
class ZeroedArray : NonCopyable {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    explicit ZeroedArray(std::size_t count) : count_{count} {
        void* const memory = ::mmap(nullptr, size_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            throw std::bad_alloc{};  // only address space is allocated, which ulimit -v limits
        }
        items_ = static_cast<T*>(memory);
    }
    ~ZeroedArray() { ::munmap(items_, size_bytes()); }

    [[nodiscard]] T& operator[](std::size_t index) { return items_[index]; }
    [[nodiscard]] const T& operator[](std::size_t index) const { return items_[index]; }
    [[nodiscard]] T* data() { return items_; }
    [[nodiscard]] const T* data() const { return items_; }
    [[nodiscard]] std::size_t size() const { return count_; }

    // Zeroes everything and returns the memory to the system.
    void clear() { ::madvise(items_, size_bytes(), MADV_DONTNEED); }

private:
    [[nodiscard]] std::size_t size_bytes() const { return count_ * sizeof(T); }

    T* items_ = nullptr;
    std::size_t count_;
};

}  // namespace perfleet
