// Received bytes that weren't used yet. Memory grows with them and is freed when all are used; reserved memory isn't
// initialised. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace perfleet::zmtp {

class KeptBytes {
public:
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
    [[nodiscard]] std::span<std::byte> space() { return {data_.get() + size_, capacity_ - size_}; }

    void reserve(std::size_t capacity) {
        if (capacity > capacity_) {
            std::unique_ptr<std::byte[]> larger{new std::byte[capacity]};
            std::copy_n(data_.get(), size_, larger.get());
            data_ = std::move(larger);
            capacity_ = capacity;
        }
    }
    void grow(std::size_t count) { size_ += count; }
    void append(std::span<const std::byte> more) {
        reserve(size_ + more.size());
        std::copy(more.begin(), more.end(), data_.get() + size_);
        size_ += more.size();
    }
    void drop_front(std::size_t count) {
        size_ -= count;
        if (size_ == 0) {
            data_.reset();
            capacity_ = 0;
        } else if (count > 0) {
            std::memmove(data_.get(), data_.get() + count, size_);
        }
    }

private:
    std::unique_ptr<std::byte[]> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace perfleet::zmtp
