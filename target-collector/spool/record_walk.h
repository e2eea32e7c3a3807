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

    // From byte `begin` to `end` of the records. False: no collector keeps records there so.
    [[nodiscard]] bool walk(std::uint64_t begin, std::uint64_t end);

    [[nodiscard]] const std::map<Series, std::uint64_t>& rows_kept() const { return rows_kept_; }

private:
    // The record there, when it is whole.
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
