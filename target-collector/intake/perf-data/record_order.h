// Sorts records by time. perf writes each CPU's records in turn, and FINISHED_ROUND when everything older than the
// previous round has been written.
//
// Bounded: kHeldSizeBytesMax of records are held if a file has no rounds; records that arrive too late are passed on
// late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "target-collector/records/record_layout.h"

namespace perfleet {

class RecordOrder {
public:
    static constexpr std::size_t kHeldSizeBytesMax = 40U << 20;

    // Copies the record.
    void add(const RecordBytes& record, std::uint64_t time);

    // True: half of the records must be passed on.
    [[nodiscard]] bool is_full() const {
        return bytes_.size() + (entries_.size() * sizeof(Entry)) >= kHeldSizeBytesMax;
    }

    // Visits (record, time) of all records up to the newest of the previous round.
    template <class Visitor>
    void finish_round(Visitor visitor) {
        pass_until(round_limit_, visitor);
        round_limit_ = newest_;
    }
    template <class Visitor>
    void pass_half(Visitor visitor) {
        sort();
        pass_until(entries_[entries_.size() / 2].time, visitor);
    }
    template <class Visitor>
    void pass_all(Visitor visitor) {
        pass_until(~0ULL, visitor);
    }

private:
    struct Entry {
        std::uint64_t time = 0;
        std::uint64_t file_offset = 0;
        std::size_t at = 0;
        std::uint32_t type = 0;
        std::uint16_t misc = 0;
        std::uint16_t size_bytes = 0;
    };
    void sort();
    void keep_from(std::size_t first);

    template <class Visitor>
    void pass_until(std::uint64_t time_limit, Visitor& visitor) {
        sort();
        std::size_t i = 0;
        for (; i < entries_.size() && entries_[i].time <= time_limit; ++i) {
            const Entry& entry = entries_[i];
            visitor(RecordBytes{std::span<const std::byte>{bytes_}.subspan(entry.at, entry.size_bytes), entry.type,
                                entry.misc, entry.file_offset},
                    entry.time);
        }
        keep_from(i);
    }

    std::vector<std::byte> bytes_;
    std::vector<Entry> entries_;
    std::uint64_t newest_ = 0;
    std::uint64_t round_limit_ = 0;
    bool is_sorted_ = true;
};

}  // namespace perfleet
