#include "query-engine/statistic/latency/heat_map.h"

#include <algorithm>
#include <array>
#include <span>

#include "query-engine/select/selection.h"
#include "query-engine/statistic/number/description.h"
#include "schemas/vocabulary/row_clock.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {
namespace {

using Wide = unsigned __int128;

// Equal parts of [first, last].
class TimeParts {
public:
    TimeParts(std::uint64_t first, std::uint64_t last)
        : first_{first},
          size_{last - first + (last - first == ~0ULL ? 0 : 1)},
          count_{std::min(size_, kHeatMapSlices)} {}

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint64_t part_of(std::uint64_t ticks) const {
        return std::min(static_cast<std::uint64_t>(Wide{ticks - first_} * count_ / size_), count_ - 1);
    }
    // The first tick of a part; for `count()` the one after the last part.
    [[nodiscard]] std::uint64_t begin_of(std::uint64_t part) const {
        return first_ + static_cast<std::uint64_t>((Wide{part} * size_ + count_ - 1) / count_);
    }

private:
    std::uint64_t first_;
    std::uint64_t size_;
    std::uint64_t count_;
};

}  // namespace

std::vector<AnswerColumn> heat_map_columns(const std::string& unit, const std::string& time_unit) {
    return {{"time", ""}, {"begin", time_unit}, {"end", time_unit}, {"from", unit}, {"to", unit}, {"count", ""}};
}

Result<Done> add_heat_map(const Scan& scan, const ValueSource& source, std::uint64_t step, Answer& answer) {
    const ScannedSession& session = scan.sessions()[source.session_index];
    const bool has_times = session.record.clock_name != kRowClock;
    answer.columns = heat_map_columns(source.unit, has_times ? "ns" : "");
    const auto described = PERFLEET_TRY(describe(source.pieces(scan), std::array{Quantile::of_percent(99)}, 0.95L));
    if (described.moments.count() == 0) {
        return Done{};
    }
    const std::uint64_t low = described.moments.min();
    const std::uint64_t range = described.percentiles[0].nearest - low;
    const std::uint64_t width = step != 0 ? step : range / kHeatMapSteps + 1;
    if (range / width >= kHeatMapStepsMax) {
        return Error{ErrorCode::kUsage, "--bucket: " + std::to_string(width) + " makes " +
                                            std::to_string(range / width) + " steps of values; at most " +
                                            std::to_string(kHeatMapStepsMax)};
    }
    std::uint64_t first = ~0ULL;
    std::uint64_t last = 0;
    std::uint64_t count = 0;
    const TimedPieces pieces = source.timed_pieces(scan);
    PERFLEET_TRY(pieces([&](std::span<const TimedValue> values) {
        for (const TimedValue& value : values) {
            first = std::min(first, has_times ? value.ticks : count);
            last = std::max(last, has_times ? value.ticks : count);
            ++count;
        }
    }));
    const TimeParts parts{first, last};
    const bool is_equal =
        step != 0 || described.percentiles[0].nearest / kHeatMapSpanMax < std::max<std::uint64_t>(low, 1);
    const std::uint64_t max = described.moments.max();
    const std::uint64_t steps = is_equal ? range / width + 1 : quarter_of(max) - quarter_of(low) + 1;
    const auto step_of = [&](std::uint64_t value) {
        return is_equal ? std::min((value - low) / width, steps) : quarter_of(value) - quarter_of(low);
    };
    std::vector<std::uint64_t> cells(parts.count() * (steps + 1));
    count = 0;
    PERFLEET_TRY(pieces([&](std::span<const TimedValue> values) {
        for (const TimedValue& value : values) {
            const std::uint64_t part = parts.part_of(has_times ? value.ticks : count);
            ++cells[part * (steps + 1) + step_of(value.value)];
            ++count;
        }
    }));
    const auto place_of = [&](std::uint64_t ticks) {
        const auto utc_ns = [&](std::uint64_t at) { return session.clock.utc_of(Ticks{at}).value; };
        return has_times ? static_cast<std::uint64_t>(utc_ns(ticks) - utc_ns(first)) : ticks;
    };
    for (std::uint64_t part = 0; part < parts.count(); ++part) {
        const AnswerValue time =
            has_times ? AnswerValue{format_time(session.clock.utc_of(Ticks{parts.begin_of(part)}))} : AnswerValue{};
        for (std::uint64_t i = 0; i <= steps; ++i) {
            if (const std::uint64_t in_cell = cells[part * (steps + 1) + i]; in_cell != 0) {
                const std::uint64_t quarter = quarter_of(low) + i;
                const std::uint64_t from = is_equal ? low + i * width : quarter_begin(quarter);
                const std::uint64_t to = !is_equal                    ? quarter_begin(quarter + 1) - 1
                                         : i == steps                 ? max
                                         : from > ~0ULL - (width - 1) ? ~0ULL
                                                                      : from + (width - 1);
                answer.rows.push_back(
                    {time, place_of(parts.begin_of(part)), place_of(parts.begin_of(part + 1)), from, to, in_cell});
            }
        }
    }
    return Done{};
}

}  // namespace perfleet
