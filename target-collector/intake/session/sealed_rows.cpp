#include "target-collector/intake/session/sealed_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kTickNs = 1'000'000'000;

}  // namespace

UtcNs utc_at(const ClockPoint& point, std::uint64_t ticks) {
    __extension__ using Wide = __int128;
    constexpr Wide kLast = std::numeric_limits<std::int64_t>::max();
    const Wide utc = Wide{point.utc_ns.value} + Wide{ticks} - Wide{point.ticks.value};
    return UtcNs{static_cast<std::int64_t>(std::clamp(utc, Wide{0}, kLast))};
}

// Each batch is taken at once: the ring holds one, which closes early if too large, and skipped space at the end.
SealedRows::SealedRows(SessionWriter& writer, const Before& before, std::size_t ring_size_bytes)
    : writer_{writer},
      values_(
          BatchBuilder::values_count(limits::kBatchRowsMax, BatchBuilder::kIntegerColumnsMax, limits::kBatchSeriesMax)),
      bytes_(limits::kSeriesBytesMax),
      ring_memory_{new std::byte[ring_size_bytes]},
      losses_memory_(kLossReportRingSizeBytes),
      batches_{{ring_memory_.get(), ring_size_bytes}},
      losses_{losses_memory_},
      builder_{values_, bytes_, limits::kBatchRowsMax},
      counts_{before.counts},
      // Batches close only when they are full: their times are long past.
      sealer_{{.session = writer.record().session,
               .batch_age_ticks_max = ~0ULL,
               .sealed_before = before.last_seq,
               .first_epoch = before.next_epoch},
              builder_,
              counts_,
              batches_,
              losses_} {}

void SealedRows::append(const RowView& row) {
    sealer_.append(row);
    drain();
}

void SealedRows::begin_epoch(Ticks now) {
    sealer_.begin_epoch(now, utc_of(now));
    drain();
}

void SealedRows::tick(Ticks now) {
    if (now.value >= next_tick_ns_) {
        next_tick_ns_ = now.value + kTickNs;
        sealer_.tick(now, utc_of(now));
        drain();
    }
}

void SealedRows::flush(Ticks now) {
    sealer_.flush(now);
    drain();
}

void SealedRows::drain() {
    for (auto record = batches_.acquire(); !record.empty(); record = batches_.acquire()) {
        if (!error_) {
            if (const auto passed = pass_on(record); !passed.ok()) {
                error_ = passed.error();
            }
        }
        batches_.release();
    }
}

Result<Done> SealedRows::pass_on(std::span<const std::byte> record) {
    SealedRecord header;
    std::memcpy(&header, record.data(), sizeof header);
    const auto body = record.subspan(sizeof header);
    if (header.type != SealedRecord::Type::kFinal) {
        return writer_.put(header, body);
    }
    std::vector<CountEntry> counts(body.size() / sizeof(CountEntry));
    if (!counts.empty()) {
        std::memcpy(counts.data(), body.data(), counts.size() * sizeof(CountEntry));
    }
    return writer_.end({header.seq, std::move(counts), {}, header.end_point});
}

Result<Done> SealedRows::finish(const ClockPoint& end) {
    const bool is_finished = sealer_.finish(end);
    drain();
    if (!is_finished && !error_) {
        return Error{ErrorCode::kFull, "no space for the session's end"};
    }
    return error_ ? Result<Done>{Error{*error_}} : Done{};
}

}  // namespace perfleet
