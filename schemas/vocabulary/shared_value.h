// A number that one thread counts or sets and any reads, without a lock. A copy is what was read: a struct of such
// numbers is what is counted in, and its copy what was counted so far.
//
// Freestanding.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfleet {

template <class T>
class SharedValue {
public:
    constexpr SharedValue(T value = T{}) : value_{value} {}
    SharedValue(const SharedValue& other) : value_{T{other}} {}
    SharedValue& operator=(const SharedValue& other) {
        value_.store(other, std::memory_order_relaxed);
        return *this;
    }
    ~SharedValue() = default;

    operator T() const { return value_.load(std::memory_order_relaxed); }
    // Not fetch_add(): there is one writer, and a plain store costs nothing.
    SharedValue& operator+=(T more) { return *this = T{*this} + more; }
    SharedValue& operator++() { return *this += 1; }

private:
    std::atomic<T> value_;
};

using SharedCount = SharedValue<std::uint64_t>;

}  // namespace perfleet
