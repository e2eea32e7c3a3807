// Goes through the records that a spool's journal says are kept, and finds those that are whole.
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

    // Where the entry says that they are kept, and from there on to those that its collector was about to keep: they
    // get into the entry. False: no collector keeps records there so.
    [[nodiscard]] bool walk_kept();

    // Makes the entry say that all whole records are kept, from the oldest on that a ring of records may hold.
    void find_places();

    // Of all whole records, wherever they stand.
    [[nodiscard]] Seq newest_seq();

    [[nodiscard]] const std::map<Series, std::uint64_t>& rows_kept() const { return rows_kept_; }

private:
    // Records one behind the other, ascending by seq, with what is damaged between them.
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
    // The record there, when it is whole; when it is also one that the entry keeps, and behind the last.
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
