// Gathers rows in columns and seals them into a Batch message: a single-segment Cap'n Proto message written by hand,
// byte for byte what schemas/wire/collector.capnp describes.
//
// Freestanding. Works in memory that the caller supplies. Rows of several series may be gathered at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/limits.h"
#include "schemas/vocabulary/result.h"

namespace perfleet {

class BatchBuilder {
public:
    // `values` holds the integer columns of all rows until sealing, `bytes` the byte columns. How many rows fit depends
    // on the kinds: a row takes 8 bytes an integer column. Borrowed.
    BatchBuilder(std::span<std::uint64_t> values, std::span<std::byte> bytes, std::uint32_t row_count_max);
    BatchBuilder(const BatchBuilder&) = delete;
    BatchBuilder& operator=(const BatchBuilder&) = delete;

    // Adds a row: one integer for each kInteger column of columns_of(series.kind), in that order (size columns
    // included), and the bytes for each kBytes column. False: no room, nothing was added; seal first.
    [[nodiscard]] bool append(Series series, std::span<const std::uint64_t> integers,
                              std::span<const std::span<const std::byte>> bytes = {});

    [[nodiscard]] std::uint32_t row_count() const;  // of all series
    [[nodiscard]] std::uint32_t row_count(Series series) const;

    // Visits (series, row_count) of what was gathered, in the order of the first row.
    template <class Visitor>
    void each_series(Visitor visitor) const;

    // Upper bound of what seal() needs now.
    [[nodiscard]] std::size_t sealed_size_bytes_max(std::size_t tally_count, std::size_t range_count,
                                                    std::size_t point_count) const;

    // Writes an Envelope with the Batch into `out` and returns its size (a multiple of 8). The rows stay: call clear().
    // `now` stands in for the time of definitions. Faults: kFull, kTooLarge (past a limit of vocabulary/limits.h).
    [[nodiscard]] Checked<std::size_t> seal(const BatchHeader& header, Ticks now, std::span<const Tally> tallies,
                                            std::span<const SeqRange> dropped, std::span<const ClockPoint> clock_points,
                                            std::span<std::byte> out);

    void clear();

private:
    friend class BatchBuilderParts;
};

// Sets Batch.oldestRetainedSeq in a sealed message, which the seal doesn't cover. Faults: kInvalid (not such a
// message).
[[nodiscard]] Checked<Done> set_oldest_retained_seq(std::span<std::byte> message, Seq oldest);

}  // namespace perfleet
