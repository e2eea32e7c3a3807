// The consumer's side of a ring of records of fixed size in memory that an untrusted program writes, too.
//
// Freestanding. That memory may contain anything, and change at any time. So each word is read once, the consumer keeps
// the tail itself, and an impossible head is a fault. A record that is handed over is a copy. The producer counts in
// `head` what it has written, and waits with record `head` for `tail` to be within `capacity`.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace perfleet {

template <std::size_t kWords>
class UntrustedRing {
public:
    using Record = std::array<std::uint64_t, kWords>;

    UntrustedRing() = default;
    // All borrowed. `words`: capacity × kWords of them, capacity a power of two.
    UntrustedRing(std::uint64_t& head, std::uint64_t& tail, std::span<std::uint64_t> words)
        : head_{&head}, tail_{&tail}, words_{words} {}

    // Copies the oldest record. False: there is none, or the ring is broken.
    [[nodiscard]] bool read(Record& record) {
        if (taken_ == seen_) {
            // Acquire: partner of the producer's release. A reader that sees the new head also sees the records before
            // it.
            const std::uint64_t head = std::atomic_ref{*head_}.load(std::memory_order_acquire);
            if (head - taken_ > capacity()) {
                is_broken_ = true;
            }
            if (is_broken_ || head == taken_) {
                return false;
            }
            seen_ = head;
        }
        const std::size_t at = (taken_ & (capacity() - 1)) * kWords;
        for (std::size_t i = 0; i < kWords; ++i) {
            record[i] = std::atomic_ref{words_[at + i]}.load(std::memory_order_relaxed);
        }
        return true;
    }

    // To be called after read(): takes the oldest record.
    void pop() { ++taken_; }

    // Takes all unread records. Returns their number according to the producer.
    std::uint64_t skip() {
        const std::uint64_t head = std::atomic_ref{*head_}.load(std::memory_order_acquire);
        const std::uint64_t skipped = head - taken_;
        taken_ = head;
        seen_ = head;
        return skipped;
    }

    // Lets the producer write where records were taken.
    void release() {
        // Release: our reads come before the producer's next writes.
        std::atomic_ref{*tail_}.store(taken_, std::memory_order_release);
    }

    // The producer's head went back, or further ahead than the ring's length. Stays true.
    [[nodiscard]] bool is_broken() const { return is_broken_; }
    [[nodiscard]] std::uint64_t capacity() const { return words_.size() / kWords; }
    // As of the last read.
    [[nodiscard]] std::uint64_t waiting_count() const { return seen_ - taken_; }

private:
    std::uint64_t* head_ = nullptr;
    std::uint64_t* tail_ = nullptr;
    std::span<std::uint64_t> words_;
    std::uint64_t taken_ = 0;
    std::uint64_t seen_ = 0;
    bool is_broken_ = false;
};

}  // namespace perfleet
