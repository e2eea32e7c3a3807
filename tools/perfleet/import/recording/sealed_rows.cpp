#include "tools/perfleet/import/recording/sealed_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <variant>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/message/bye.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kColumnsOfWidestKind = 14;
// Each batch is taken at once: room for one, which closes early where it is larger, and for what is skipped at the end.
constexpr std::size_t kRingSizeBytes = 2U << 20;
constexpr std::uint64_t kTickNs = 1'000'000'000;

}  // namespace

UtcNs utc_at(const ClockPoint& point, std::uint64_t ticks) {
    __extension__ using Wide = __int128;
    constexpr Wide kLast = std::numeric_limits<std::int64_t>::max();
    const Wide utc = Wide{point.utc_ns.value} + Wide{ticks} - Wide{point.ticks.value};
    return UtcNs{static_cast<std::int64_t>(std::clamp(utc, Wide{0}, kLast))};
}

SealedRows::SealedRows(SessionWriter& writer)
    : writer_{writer},
      values_(BatchBuilder::values_count(limits::kBatchRowsMax, kColumnsOfWidestKind, limits::kBatchSeriesMax)),
      bytes_(limits::kSeriesBytesMax),
      ring_memory_{new std::byte[kRingSizeBytes]},
      losses_memory_(kLossReportRingSizeBytes),
      batches_{{ring_memory_.get(), kRingSizeBytes}},
      losses_{losses_memory_},
      builder_{values_, bytes_, limits::kBatchRowsMax},
      // Batches close when they are full: their times are long over.
      sealer_{{writer.record().session, limits::kBatchRowsMax, ~0ULL, nullptr}, builder_, counts_, batches_, losses_} {}

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

void SealedRows::drain() {
    for (auto record = batches_.acquire(); !record.empty(); record = batches_.acquire()) {
        if (!error_) {
            pass_on(record);
        }
        batches_.release();
    }
}

void SealedRows::pass_on(std::span<const std::byte> record) {
    SealedRecord header;
    std::memcpy(&header, record.data(), sizeof header);
    const auto body = record.subspan(sizeof header);
    if (header.type == SealedRecord::Type::kFinal) {
        pass_on_end(body, header.seq, header.end_point);
        return;
    }
    const auto message = decoder_.decode(body);
    if (!message.ok()) {
        return fail(message.error());
    }
    if (auto done = writer_.put(std::get<BatchUntrusted>(*message)); !done.ok()) {
        fail(std::move(done).error());
    }
}

void SealedRows::pass_on_end(std::span<const std::byte> entries, Seq last_seq, const ClockPoint& end_point) {
    std::vector<CountEntry> counts(entries.size() / sizeof(CountEntry));
    if (!counts.empty()) {
        std::memcpy(counts.data(), entries.data(), counts.size() * sizeof(CountEntry));
    }
    if (auto done = writer_.end({writer_.record().session, last_seq, counts, {}, end_point}); !done.ok()) {
        fail(std::move(done).error());
    }
}

void SealedRows::fail(Error error) { error_ = std::move(error); }

Result<Done> SealedRows::finish(Ticks end) {
    const bool is_finished = sealer_.finish({end, utc_of(end), 0});
    drain();
    if (!is_finished && !error_) {
        fail(Error{ErrorCode::kFull, "no room for the session's end"});
    }
    if (error_) {
        return Error{*error_};
    }
    return writer_.sync();
}

}  // namespace perfleet
