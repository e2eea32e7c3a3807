#include "tools/perfleet/import/run_store.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/named_row.h"
#include "schemas/vocabulary/row_clock.h"
#include "target-collector/message/hello.h"
#include "tools/perfleet/import/local_session.h"
#include "tools/perfleet/import/run_hash.h"

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

// The session of one run on its way into the store.
class RunWriter {
public:
    RunWriter(const ImportedRun& run, const ImportPlace& place, Store& store)
        : run_{run}, place_{place}, store_{store}, session_{store} {
        if (run_.clock) {
            find_times();
        }
    }

    Result<StoredRun> write() {
        stored_.session = {hash_of(run_, place_, 0x5265636f72646564), hash_of(run_, place_, 0x496d706f72746564)};
        PERFLEET_TRY(admit_session());
        const auto end = PERFLEET_TRY(store_.session_end(session_.record().target, session_.record().session));
        stored_.was_there = end.has_value();
        if (stored_.was_there) {
            return stored_;
        }
        PERFLEET_TRY(session_.enter(bucket_of(place_.time), Ticks{ticks_}));
        for (std::size_t i = 0; i < run_.series.size(); ++i) {
            const Series series{run_.series[i].kind, EventNumber{static_cast<std::uint16_t>(i)}};
            for (const std::vector<std::uint64_t>& row : run_.series[i].rows) {
                PERFLEET_TRY(append(series, row));
            }
            for (const std::uint64_t value : run_.series[i].values) {
                const auto row =
                    row_of<Kind::kTracepoint>(column<ColumnId::kWeight>(1), column<ColumnId::kValue>(value));
                PERFLEET_TRY(append(series, row));
            }
            PERFLEET_TRY(session_.flush(Ticks{ticks_}));
            for (const auto& [reason, count] : run_.series[i].lost) {
                session_.lose(series, reason, count);
            }
        }
        PERFLEET_TRY(session_.end({Ticks{ticks_}, end_time(), 0}));
        stored_.row_count = session_.row_count();
        return stored_;
    }

private:
    [[nodiscard]] std::uint64_t ticks_per_second() const {
        return run_.clock ? run_.clock->ticks_per_second : kTicksPerSecond;
    }

    // The run begins at its first tick and ends behind its last one.
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

    // The last moment there is, where the run goes on beyond it.
    [[nodiscard]] UtcNs end_time() const {
        const long double duration_ns = static_cast<long double>(ticks_ - first_ticks_) * kTicksPerSecond /
                                        static_cast<long double>(ticks_per_second());
        constexpr auto kTimeMax = std::numeric_limits<std::int64_t>::max();
        // Two's complement: right for starts before 1970, too, of which the room is more than a signed number holds.
        const std::uint64_t start = static_cast<std::uint64_t>(place_.time.value);
        const std::uint64_t room_ns = static_cast<std::uint64_t>(kTimeMax) - start;
        return UtcNs{duration_ns < static_cast<long double>(room_ns)
                         ? static_cast<std::int64_t>(start + static_cast<std::uint64_t>(duration_ns))
                         : kTimeMax};
    }

    // What a collector says of itself, said and heard.
    Result<Done> admit_session() {
        HelloDescription hello;
        hello.session = stored_.session;
        hello.target = target_id_of(place_.target_name);
        hello.target_name = place_.target_name;
        hello.architecture = place_.architecture;
        std::vector<LabelDescription> labels;
        for (const auto& [key, value] : run_.labels) {
            labels.push_back({key, value});
        }
        hello.labels = labels;
        std::vector<EventDescription> events;
        for (const ImportedSeries& series : run_.series) {
            EventDescription& event = events.emplace_back();
            event.name = series.event;
            event.kind = series.kind;
            event.period = 1;
            event.unit = series.unit;
            event.format = series.format;
        }
        hello.events = events;
        hello.clock = {run_.clock ? std::string_view{run_.clock->name} : kRowClock, ticks_per_second(), -1};
        hello.start_point = {Ticks{first_ticks_}, place_.time, 0};
        const std::vector<std::string_view> command_line{"perfleet", "import", place_.source};
        hello.host.command_line = command_line;
        hello.collector_version = PERFLEET_VERSION;
        return session_.admit(hello);
    }

    Result<Done> append(Series series, std::span<const std::uint64_t> row) {
        return run_.clock ? session_.append({series, Ticks{row.front()}, row.subspan(1)})
                          : session_.append({series, Ticks{ticks_++}, row});
    }

    const ImportedRun& run_;
    const ImportPlace& place_;
    Store& store_;
    LocalSession session_;
    StoredRun stored_;
    std::uint64_t first_ticks_ = 0;
    std::uint64_t ticks_ = 0;  // of the next row, or of the run's end when it has a clock
};

}  // namespace

Result<StoredRun> store_run(const ImportedRun& run, const ImportPlace& place, Store& store) {
    if (run.series.size() > limits::kEventsMax) {
        return Error{ErrorCode::kTooLarge, std::to_string(run.series.size()) + " series in one run, at most " +
                                               std::to_string(limits::kEventsMax) + " fit"};
    }
    return RunWriter{run, place, store}.write();
}

}  // namespace perfleet
