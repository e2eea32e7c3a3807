#include "tools/perfleet/import/run_store.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "schemas/host/host_clock.h"
#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/named_row.h"
#include "schemas/vocabulary/row_clock.h"
#include "target-collector/intake/session/run_hash.h"
#include "target-collector/intake/session/sealed_rows.h"
#include "tools/perfleet/import/session/own_session.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kTicksPerSecond = 1'000'000'000;

std::uint64_t hash_of(const ImportedRun& run, const ImportPlace& place, std::uint64_t start) {
    RunHash hash{start};
    hash.text(place.target_name);
    hash.integer(static_cast<std::uint64_t>(place.time.value));
    for (const auto& [key, value] : run.labels) {
        hash.text(key);
        hash.text(value);
    }
    for (const ImportedSeries& series : run.series) {
        hash.integer(static_cast<std::uint64_t>(series.kind));
        hash.text(series.event);
        hash.text(series.unit);
        hash.integer(series.rows.size() + series.values.size());
        for (const std::vector<std::uint64_t>& row : series.rows) {
            for (const std::uint64_t value : row) {
                hash.integer(value);
            }
        }
        for (const std::uint64_t value : series.values) {
            hash.integer(value);
        }
        for (const auto& [reason, count] : series.lost) {
            hash.integer(static_cast<std::uint64_t>(reason));
            hash.integer(count);
        }
    }
    return hash.value();
}

class RunWriter {
public:
    RunWriter(const ImportedRun& run, const ImportPlace& place) : run_{run}, place_{place} {
        if (run_.clock) {
            find_times();
        }
    }

    Result<StoredRun> write(SessionDestination& destination) {
        auto record = PERFLEET_TRY(admit_own(describe_session()));
        if (PERFLEET_TRY(destination.has_ended(record.target, record.session))) {
            return StoredRun{record.session, 0, true};
        }
        // Its rows must all lie in the hour of its time.
        const auto writer = PERFLEET_TRY(destination.begin(std::move(record), std::max(utc_now(), place_.time)));
        SealedRows rows{*writer};
        rows.begin_epoch(Ticks{first_ticks_});
        for (std::size_t i = 0; i < run_.series.size(); ++i) {
            const Series series{run_.series[i].kind, EventNumber{static_cast<std::uint16_t>(i)}};
            for (const std::vector<std::uint64_t>& row : run_.series[i].rows) {
                append(rows, series, row);
            }
            for (const std::uint64_t value : run_.series[i].values) {
                const auto row =
                    row_of<Kind::kTracepoint>(column<ColumnId::kWeight>(1), column<ColumnId::kValue>(value));
                append(rows, series, row);
            }
            for (const auto& [reason, count] : run_.series[i].lost) {
                rows.count_lost(series, reason, count);
            }
        }
        PERFLEET_TRY(rows.finish({Ticks{ticks_}, end_time(), 0}));
        const StoredSession& stored = writer->stored();
        if (stored.batches_expired > 0) {
            return Error{ErrorCode::kInvalid, "the run's hour was dropped from this store; name another --time"};
        }
        return StoredRun{stored.session, stored.row_count, stored.was_there()};
    }

private:
    [[nodiscard]] std::uint64_t ticks_per_second() const {
        return run_.clock ? run_.clock->ticks_per_second : kTicksPerSecond;
    }

    // The run begins at its first tick and ends after its last one.
    void find_times() {
        first_ticks_ = ~0ULL;
        for (const ImportedSeries& series : run_.series) {
            for (const std::vector<std::uint64_t>& row : series.rows) {
                first_ticks_ = std::min(first_ticks_, row.front());
                ticks_ = std::max(ticks_, row.front());
            }
        }
        first_ticks_ = std::min(first_ticks_, ticks_);
        ticks_ += ticks_ == ~0ULL ? 0 : 1;
    }

    // The largest possible time, if the run goes beyond it.
    [[nodiscard]] UtcNs end_time() const {
        const long double duration_ns = static_cast<long double>(ticks_ - first_ticks_) * kTicksPerSecond /
                                        static_cast<long double>(ticks_per_second());
        constexpr auto kTimeMax = std::numeric_limits<std::int64_t>::max();
        // Two's complement: also right before 1970, where the remaining range exceeds a signed number.
        const std::uint64_t start = static_cast<std::uint64_t>(place_.time.value);
        const std::uint64_t room_ns = static_cast<std::uint64_t>(kTimeMax) - start;
        return UtcNs{duration_ns < static_cast<long double>(room_ns)
                         ? static_cast<std::int64_t>(start + static_cast<std::uint64_t>(duration_ns))
                         : kTimeMax};
    }

    // Labels that a collector sets itself.
    [[nodiscard]] SessionRecord describe_session() const {
        SessionRecord record;
        record.session = {hash_of(run_, place_, 0x5265636f72646564), hash_of(run_, place_, 0x496d706f72746564)};
        record.target = target_id_of(place_.target_name);
        record.target_name = place_.target_name;
        record.architecture = place_.architecture;
        record.labels.assign(run_.labels.begin(), run_.labels.end());
        for (const ImportedSeries& series : run_.series) {
            EventRecord& event = record.events.emplace_back();
            event.name = series.event;
            event.kind = series.kind;
            event.period = 1;
            event.unit = series.unit;
            event.format = series.format;
        }
        record.clock_name = run_.clock ? run_.clock->name : kRowClock;
        record.ticks_per_second = ticks_per_second();
        record.linux_clockid = -1;
        record.start_point = {Ticks{first_ticks_}, place_.time, 0};
        record.host.command_line = {"perfleet", std::string{place_.command}, place_.source};
        if (place_.command != "import") {
            record.host.command_line.insert(record.host.command_line.end() - 1, "--");
        }
        record.collector_version = PERFLEET_VERSION;
        return record;
    }

    void append(SealedRows& rows, Series series, std::span<const std::uint64_t> row) {
        constexpr std::array<std::span<const std::byte>, 1> kNoRawData{};
        RowView view{series, run_.clock ? Ticks{row.front()} : Ticks{ticks_++}, run_.clock ? row.subspan(1) : row};
        if (series.kind == Kind::kTracepoint) {
            view.bytes = kNoRawData;
        }
        rows.append(view);
    }

    const ImportedRun& run_;
    const ImportPlace& place_;
    std::uint64_t first_ticks_ = 0;
    std::uint64_t ticks_ = 0;  // of the next row, or of the run's end if it has a clock
};

}  // namespace

Result<StoredRun> store_run(const ImportedRun& run, const ImportPlace& place, SessionDestination& destination) {
    if (run.series.size() > limits::kEventsMax) {
        return Error{ErrorCode::kTooLarge, std::to_string(run.series.size()) + " series in one run, at most " +
                                               std::to_string(limits::kEventsMax) + " fit"};
    }
    return RunWriter{run, place}.write(destination);
}

}  // namespace perfleet
