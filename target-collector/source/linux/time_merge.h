// Merges the records of all rings in order of time.
//
// Each ring is nearly sorted; the merge takes the ring whose first record is the oldest. Records younger than the limit
// remain in their rings: older ones may still arrive on another CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "target-collector/records/record_reader.h"
#include "target-collector/source/linux/source_sample.h"

namespace perfleet {

// `Ring` has front() and pop(), and front_time_ns() if its records aren't perf's.
template <class Ring>
class TimeMerge {
public:
    explicit TimeMerge(std::span<const std::unique_ptr<Ring>> rings) : rings_{rings} { heap_.reserve(rings.size()); }

    // Visits (ring index, record) of all records up to `time_limit`, oldest first. A record without a time is visited
    // at once. The visitor borrows the record.
    template <class Visitor>
    void pass_until(std::uint64_t time_limit, Visitor visitor) {
        heap_.clear();
        for (std::size_t i = 0; i < rings_.size(); ++i) {
            push(i, time_limit);
        }
        std::make_heap(heap_.begin(), heap_.end(), is_later);
        while (!heap_.empty()) {
            const std::size_t ring_index = heap_.front().ring_index;
            Ring& ring = *rings_[ring_index];
            // While this ring has the oldest record the heap needs no update.
            const std::uint64_t second_time = time_of_second();
            bool has_more = true;
            do {
                visitor(ring_index, heap_.front().record);
                ring.pop();
                has_more = peek(ring_index, time_limit, heap_.front());
            } while (has_more && heap_.front().time <= second_time);
            if (!has_more) {
                heap_.front() = heap_.back();
                heap_.pop_back();
            }
            sift_down();
        }
    }

private:
    struct Head {
        std::uint64_t time = 0;
        std::size_t ring_index = 0;
        std::span<const std::byte> record;
    };

    static bool is_later(const Head& a, const Head& b) {
        return a.time != b.time ? a.time > b.time : a.ring_index > b.ring_index;
    }

    // Restores the heap after its front has become younger.
    void sift_down() {
        std::size_t at = 0;
        for (std::size_t child = 1; child < heap_.size(); child = (2 * at) + 1) {
            if (child + 1 < heap_.size() && is_later(heap_[child], heap_[child + 1])) {
                ++child;
            }
            if (!is_later(heap_[at], heap_[child])) {
                return;
            }
            std::swap(heap_[at], heap_[child]);
            at = child;
        }
    }

    [[nodiscard]] std::uint64_t time_of_second() const {
        std::uint64_t time = ~0ULL;
        for (std::size_t i = 1; i < std::min<std::size_t>(heap_.size(), 3); ++i) {
            time = std::min(time, heap_[i].time);
        }
        return time;
    }

    [[nodiscard]] static std::uint64_t time_of_front(const Ring& ring, std::span<const std::byte> record) {
        if constexpr (requires { ring.front_time_ns(); }) {
            return ring.front_time_ns();
        } else {
            return record_time(native_record(record), kCommonLayout).value_or(0);
        }
    }

    bool peek(std::size_t ring_index, std::uint64_t time_limit, Head& head) {
        const std::span<const std::byte> record = rings_[ring_index]->front();
        if (record.empty()) {
            return false;
        }
        const std::uint64_t time = time_of_front(*rings_[ring_index], record);
        if (time > time_limit) {
            return false;
        }
        head = {time, ring_index, record};
        return true;
    }

    void push(std::size_t ring_index, std::uint64_t time_limit) {
        Head head;
        if (peek(ring_index, time_limit, head)) {
            heap_.push_back(head);
        }
    }

    std::span<const std::unique_ptr<Ring>> rings_;
    std::vector<Head> heap_;  // a heap with the oldest at the front
};

}  // namespace perfleet
