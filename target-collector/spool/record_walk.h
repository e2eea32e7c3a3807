// Reads the records that a spool's journal names as kept, and finds the undamaged ones.
//
// The bytes are untrusted. Time is bounded by their number: contents are read at most twice over. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "target-collector/spool/spool_reading.h"

namespace perfleet {

class RecordWalk {
public:
    // Borrowed. Adds to holes and batch_count.
    RecordWalk(std::span<const std::byte> records, SpoolReading& into);

    // Reads the kept records from the place that the entry names, and the following ones that the collector was about
    // to keep: these are added to the entry. False: no collector writes such an entry.
    [[nodiscard]] bool walk_kept();

    // Sets the entry so that all whole records are kept, from the oldest on that a ring of records may hold.
    void find_places();

    // Statistics of all whole records, at any place.
    [[nodiscard]] Seq newest_seq();

    [[nodiscard]] const std::map<Series, std::uint64_t>& rows_kept() const { return rows_kept_; }

private:
    // Consecutive records, ascending by seq, with the damaged places between them.
    struct Run {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        Seq first;
        Seq last;
    };

    // From byte `begin` to `end` of the records.
    [[nodiscard]] bool walk(std::uint64_t begin, std::uint64_t end);
    void take_next();
    [[nodiscard]] std::vector<Run> find_runs();
    // The record at this place if it is whole, kept by the entry, and later than the last one.
    [[nodiscard]] std::optional<SpooledBatch> whole_record_at(std::uint64_t at, std::uint64_t end);
    [[nodiscard]] std::optional<SpooledBatch> record_at(std::uint64_t at, std::uint64_t end);
    [[nodiscard]] bool is_content_whole(const SpooledBatch& head, std::uint64_t at);
    void take(const SpooledBatch& head, std::uint64_t at);
    void add_hole(std::uint64_t begin, std::uint64_t end);

    std::span<const std::byte> records_;
    SpoolReading& into_;
    std::uint64_t bytes_to_read_;
    Seq last_seq_;
    std::vector<std::byte> message_;
    std::map<Series, std::uint64_t> rows_kept_;
};

}  // namespace perfleet
