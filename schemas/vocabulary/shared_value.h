// A number that one thread changes and any thread reads, without a lock. Copying it reads it: a copy of a struct of
// such numbers is a reading of all of them.
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
    // Not fetch_add(): there is one writer, and a plain store is cheaper.
    SharedValue& operator+=(T more) { return *this = T{*this} + more; }
    SharedValue& operator++() { return *this += 1; }

private:
    std::atomic<T> value_;
};

using SharedCount = SharedValue<std::uint64_t>;

}  // namespace perfleet
