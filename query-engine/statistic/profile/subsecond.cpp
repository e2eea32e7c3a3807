#include "query-engine/statistic/profile/subsecond.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace perfleet {
namespace {

constexpr std::uint64_t kMsPerSecond = 1'000;
constexpr std::int64_t kNsPerMs = 1'000'000;

// Columns of whole seconds, and cells of each.
struct Grid {
    std::int64_t start_ns = 0;  // a full second
    std::int64_t column_ns = kNsPerSecond;
    std::size_t column_count = 0;
    std::int64_t cell_ns = 0;
    std::size_t cell_count = 0;  // of a column

    // Times outside, which rows that came since have, belong to the nearest column.
    [[nodiscard]] std::size_t place_of(UtcNs time) const {
        const std::int64_t since = std::max<std::int64_t>(time.value - start_ns, 0);
        const auto column = std::min(static_cast<std::size_t>(since / column_ns), column_count - 1);
        return column * cell_count + static_cast<std::size_t>(since % kNsPerSecond / cell_ns);
    }
};

std::optional<std::pair<UtcNs, UtcNs>> range_of(const Scan& scan, const Measure& measure) {
    auto range = measure_time_range(scan, measure);
    if (range && scan.selection().from) {
        range->first = std::max(range->first, *scan.selection().from);
    }
    if (range && scan.selection().to) {
        range->second = std::min(range->second, UtcNs{scan.selection().to->value - 1});
    }
    return range && range->first <= range->second ? range : std::nullopt;
}

Grid grid_of(const std::pair<UtcNs, UtcNs>& range, const SubsecondOptions& options) {
    Grid grid;
    const auto second_of = [](UtcNs time) {
        return time.value / kNsPerSecond - (time.value % kNsPerSecond < 0 ? 1 : 0);
    };
    const std::int64_t first = second_of(range.first);
    const auto seconds = static_cast<std::uint64_t>(second_of(range.second)) - static_cast<std::uint64_t>(first) + 1;
    const std::uint64_t in_column = (seconds + options.column_count - 1) / options.column_count;
    grid.start_ns = first * kNsPerSecond;
    grid.column_ns = static_cast<std::int64_t>(in_column) * kNsPerSecond;
    grid.column_count = static_cast<std::size_t>((seconds + in_column - 1) / in_column);
    grid.cell_ns = static_cast<std::int64_t>(options.cell_ms) * kNsPerMs;
    grid.cell_count = static_cast<std::size_t>(kMsPerSecond / options.cell_ms);
    return grid;
}

// What one worker has counted.
struct Cells {
    std::vector<Sum> sums;
    RowTotal total;

    void add(const Grid& grid, const ScannedSession& session, RowBlock& block, bool is_amount) {
        const bool has_numbers = has_sample_numbers(session.record, block.series);
        constexpr std::array kColumns{ColumnId::kTime, ColumnId::kWeight, ColumnId::kValue};
        if (!block.decode_more(std::span{kColumns}.first(has_numbers ? 3 : is_amount ? 2 : 1))) {
            return;
        }
        const auto times = block.rows.integers(ColumnId::kTime);
        const auto weights = is_amount ? block.rows.integers(ColumnId::kWeight) : std::span<const std::uint64_t>{};
        for (std::size_t row = 0; row < times.size(); ++row) {
            const std::uint64_t samples = has_numbers ? samples_of(block.rows, row) : 1;
            const std::uint64_t weight = is_amount ? weights[row] : samples;
            sums[grid.place_of(session.clock.utc_of(Ticks{times[row]}))] +=
                Sum{static_cast<std::int64_t>(weight), samples};
            if (has_numbers) {
                total.add_value(weight, samples);
            } else {
                total.add(weight, 1);
            }
        }
    }
};

Result<Done> count(const Scan& scan, const Measure& measure, const Grid& grid, std::vector<Cells>& workers) {
    for (std::size_t index = 0; index < scan.sessions().size(); ++index) {
        const ScannedSession& session = scan.sessions()[index];
        for (const std::string& part : measure.parts) {
            for (const Series series : event_series(session, part)) {
                for (const EpochNumber epoch : session.epochs) {
                    if (scan.has_rows(index, epoch, series)) {
                        PERFLEET_TRY(scan.visit_rows_in_parallel(
                            index, epoch, series, {}, scan.worker_count(), [&](unsigned worker, RowBlock& block) {
                                workers[worker].add(grid, session, block, measure.is_amount);
                            }));
                    }
                }
            }
        }
    }
    return Done{};
}

void write_rows(const Grid& grid, const std::vector<Sum>& sums, Answer& answer) {
    for (std::size_t column = 0; column < grid.column_count; ++column) {
        const std::int64_t begin = static_cast<std::int64_t>(column) * grid.column_ns;
        const std::string time = format_time(UtcNs{grid.start_ns + begin});
        for (std::size_t cell = 0; cell < grid.cell_count; ++cell) {
            if (const Sum& sum = sums[column * grid.cell_count + cell]; sum.rows != 0) {
                const std::int64_t from = static_cast<std::int64_t>(cell) * grid.cell_ns;
                answer.rows.push_back({time, integer_value(begin), integer_value(begin + grid.column_ns),
                                       integer_value(from), integer_value(from + grid.cell_ns - 1),
                                       integer_value(sum.amount), sum.rows});
            }
        }
    }
}

}  // namespace

const OptionTable<SubsecondOptions>& subsecond_options() {
    static const OptionTable<SubsecondOptions> kTable =
        OptionTable<SubsecondOptions>{}
            .count("cell", "MS", "height of a cell in ms, of which a second has a whole number (default: 20)",
                   &SubsecondOptions::cell_ms, 1, kMsPerSecond / 2)
            .count("columns", "N", "columns of one or more whole seconds, at most (default: 300)",
                   &SubsecondOptions::column_count, 1, SubsecondOptions::kColumnsMax)
            .finish([](const OptionValues&, SubsecondOptions& options) -> Result<Done> {
                return kMsPerSecond % options.cell_ms == 0
                           ? Result<Done>{Done{}}
                           : option_error("cell", std::to_string(options.cell_ms),
                                          "ms that a second is a multiple of: 1, 2, 4, 5, 8, 10, 20, 25, 40, 50, …");
            });
    return kTable;
}

Result<Answer> make_subsecond(const Scan& scan, Symbolizer& symbolizer, const SubsecondOptions& options) {
    const auto measure = PERFLEET_TRY(choose_measure(scan));
    Answer answer;
    answer.columns = {{"time", ""},         {"begin", "ns"}, {"end", "ns"},
                      {"from", "ns"},       {"to", "ns"},    {"amount", measure ? measure->unit : kRowUnit},
                      {"samples", kRowUnit}};
    if (!measure) {
        answer.warnings.push_back(no_samples_text(scan));
        return answer;
    }
    RowTotal total;
    if (const auto range = range_of(scan, *measure)) {
        const Grid grid = grid_of(*range, options);
        const std::size_t size = grid.column_count * grid.cell_count;
        MemoryShare share{scan.memory()};
        share.set(scan.worker_count() * size * sizeof(Sum));
        PERFLEET_TRY(scan.memory().check());
        std::vector<Cells> workers(scan.worker_count(), Cells{std::vector<Sum>(size), {}});
        PERFLEET_TRY(count(scan, *measure, grid, workers));
        for (const Cells& worker : workers) {
            total += worker.total;
        }
        if (!total.weights.is_exact()) {
            return Error{ErrorCode::kTooLarge, "the amounts of " + measure->event + " add up to 2^63 " + measure->unit +
                                                   " or more: select less, or count samples (--measure samples)"};
        }
        for (std::size_t worker = 1; worker < workers.size(); ++worker) {
            for (std::size_t place = 0; place < size; ++place) {
                workers[0].sums[place] += workers[worker].sums[place];
            }
        }
        write_rows(grid, workers[0].sums, answer);
    }
    set_measure(*measure, total, answer);
    warn_of_no_samples(*measure, total.sum.rows != 0, answer.warnings);
    finish_profile(scan, *measure, total, symbolizer, answer.ledger, answer.warnings);
    return answer;
}

}  // namespace perfleet
