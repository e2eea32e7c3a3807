#include "query-engine/statistic/profile/slowest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "query-engine/statistic/diff/diff_lines.h"
#include "query-engine/statistic/number/cluster.h"
#include "query-engine/statistic/number/share_comparison.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/frame_names.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr std::size_t kSlow = 0;
constexpr std::size_t kOther = 1;

class SlowestProfile {
public:
    SlowestProfile(Symbolizer& symbolizer, const Scan& scan, bool each_address)
        : names_{symbolizer, scan.memory(), scan.worker_count(), FrameNames::wanted(each_address)},
          share_{scan.memory()} {}

    void add(const EpochOperationSamples& epoch) {
        outside_ += epoch.outside;
        total_ += epoch.total;
        std::vector<StackCount> stacks;
        for (const OperationSample& sample : epoch.samples) {
            stacks.push_back({0, sample.stack, Sum::of_rows(1, sample.amount)});
        }
        std::sort(stacks.begin(), stacks.end(),
                  [](const StackCount& a, const StackCount& b) { return a.stack.value < b.stack.value; });
        std::size_t kept = 0;
        for (const StackCount& one : stacks) {
            if (kept != 0 && stacks[kept - 1].stack == one.stack) {
                stacks[kept - 1].sum += one.sum;
            } else {
                stacks[kept++] = one;
            }
        }
        stacks.resize(kept);
        names_.name_epoch(*epoch.dictionary, stacks);
        rows_.resize(names_.name_count());
        share_.set(names_.size_bytes() + rows_.capacity() * sizeof(Row) + stacks.capacity() * sizeof(StackCount));
        for (auto sample = epoch.samples.begin(); sample != epoch.samples.end();) {
            const auto first = sample;
            sample = std::find_if(first, epoch.samples.end(),
                                  [&](const OperationSample& other) { return other.operation != first->operation; });
            add_operation(*epoch.dictionary, {first, sample},
                          epoch.operations->is_slow[first->operation] ? kSlow : kOther);
        }
    }

    // Sums over the operations that have samples.
    [[nodiscard]] const ClusterSums& side(std::size_t index) const { return sides_[index]; }
    [[nodiscard]] std::uint64_t sample_count(std::size_t index) const { return sample_counts_[index]; }
    [[nodiscard]] std::uint64_t outside() const { return outside_; }
    [[nodiscard]] const RowTotal& total() const { return total_; }
    [[nodiscard]] const FrameNames& names() const { return names_; }

    void add_lines(DiffLines& lines, std::vector<std::string>& warnings) const {
        std::vector<std::uint32_t> order(rows_.size());
        for (std::uint32_t row = 0; row < order.size(); ++row) {
            order[row] = row;
        }
        std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            const auto by_symbol = names_.symbols().compare(names_.name(a).symbol, names_.name(b).symbol);
            return by_symbol != 0
                       ? by_symbol < 0
                       : names_.images().text(names_.name(a).image) < names_.images().text(names_.name(b).image);
        });
        std::size_t left_out = 0;
        for (const std::uint32_t index : order) {
            const Row& row = rows_[index];
            const bool is_leaf = row.self[kSlow].sum.hits == row.children[kSlow].sum.hits &&
                                 row.self[kOther].sum.hits == row.children[kOther].sum.hits;
            const std::uint64_t seen = row.samples;
            left_out += seen != 0 && seen < kComparedSamplesMin ? 1 : 0;
            if (seen < kComparedSamplesMin) {
                continue;
            }
            if (row.self[kSlow].sum.hits + row.self[kOther].sum.hits != 0) {
                lines.add(line_of(index, "self", row.self));
            }
            if (!is_leaf) {
                lines.add(line_of(index, "children", row.children));
            }
        }
        if (left_out != 0) {
            warnings.push_back(fmt::format("left out: {} with fewer than {} samples in all operations",
                                           counted_noun(left_out, "function"), kComparedSamplesMin));
        }
    }

private:
    struct CountEntry {
        std::uint64_t self = 0;
        std::uint64_t children = 0;
    };
    struct Row {
        std::array<ClusterSums, 2> self;
        std::array<ClusterSums, 2> children;
        std::uint64_t samples = 0;  // with it in their chain, unweighted
        CountEntry of_operation;    // of the current operation
        bool is_touched = false;
        std::uint64_t last_sample = 0;  // number of the last one that counted
    };

    void add_operation(const EpochDictionary& dictionary, std::span<const OperationSample> samples, std::size_t side) {
        std::uint64_t count = 0;
        for (const OperationSample& sample : samples) {
            ++sample_number_;
            count += sample.amount;
            chain_of(dictionary, sample.stack, chain_);
            bool is_leaf = true;
            for (const StackNumber node : chain_) {
                const std::uint32_t number = names_.number_of(node);
                Row& row = rows_[number];
                if (!row.is_touched) {
                    row.is_touched = true;
                    touched_.push_back(number);
                }
                row.of_operation.self += std::exchange(is_leaf, false) ? sample.amount : 0;
                if (row.last_sample != sample_number_) {
                    row.last_sample = sample_number_;
                    row.of_operation.children += sample.amount;
                    ++row.samples;
                }
            }
        }
        sides_[side].add_count(count);
        sample_counts_[side] += samples.size();
        for (const std::uint32_t number : touched_) {
            Row& row = rows_[number];
            row.self[side].add_hits(row.of_operation.self, count);
            row.children[side].add_hits(row.of_operation.children, count);
            row.of_operation = {};
            row.is_touched = false;
        }
        touched_.clear();
    }

    // Operations without the function are clusters, too.
    [[nodiscard]] ClusteredShare share_of(const std::array<ClusterSums, 2>& hits, std::size_t side) const {
        ClusterSums sums = hits[side];
        sums.clusters = sides_[side].clusters;
        sums.sum.count = sides_[side].sum.count;
        sums.count_squared = sides_[side].count_squared;
        return clustered_share(sums, total_.amount_of_effective_row());
    }

    [[nodiscard]] DiffLine line_of(std::uint32_t index, const std::string& figure,
                                   const std::array<ClusterSums, 2>& hits) const {
        const ClusteredShare slow = share_of(hits, kSlow);
        const ClusteredShare other = share_of(hits, kOther);
        DiffLine line = share_line(figure, other, slow);
        line.name = names_.symbols().text(names_.name(index).symbol);
        line.identity = {line.name, names_.images().text(names_.name(index).image)};
        line.counted = fmt::format("{} slow and {} other operations", sides_[kSlow].clusters, sides_[kOther].clusters);
        return line;
    }

    FrameNames names_;
    std::vector<Row> rows_;  // by number of the name
    std::array<ClusterSums, 2> sides_;
    std::array<std::uint64_t, 2> sample_counts_{};
    std::uint64_t outside_ = 0;
    RowTotal total_;
    std::uint64_t sample_number_ = 0;
    std::vector<StackNumber> chain_;
    std::vector<std::uint32_t> touched_;
    MemoryShare share_;
};

// Keeps the columns of diff that matter here, renamed after this command's sides.
void keep_columns(Answer& answer) {
    constexpr std::array<std::pair<const char*, const char*>, 10> kKept{{{"symbol", "symbol"},
                                                                         {"image", "image"},
                                                                         {"figure", "figure"},
                                                                         {"after", "slowest_percent"},
                                                                         {"before", "others_percent"},
                                                                         {"difference", "difference"},
                                                                         {"difference_low", "difference_low"},
                                                                         {"difference_high", "difference_high"},
                                                                         {"p_adjusted", "p_adjusted"},
                                                                         {"verdict", "verdict"}}};
    std::vector<std::size_t> places;
    std::vector<AnswerColumn> columns;
    for (const auto& [name, shown] : kKept) {
        const auto place = std::find_if(answer.columns.begin(), answer.columns.end(),
                                        [&, wanted = name](const AnswerColumn& one) { return one.name == wanted; });
        places.push_back(static_cast<std::size_t>(place - answer.columns.begin()));
        const std::string column = shown;
        columns.push_back({column, column.ends_with("_percent")       ? "percent"
                                   : column.starts_with("difference") ? "points"
                                                                      : ""});
    }
    answer.columns = std::move(columns);
    for (std::vector<AnswerValue>& row : answer.rows) {
        std::vector<AnswerValue> kept;
        for (const std::size_t place : places) {
            kept.push_back(std::move(row[place]));
        }
        row = std::move(kept);
    }
}

}  // namespace

Result<Answer> make_slowest(const Scan& scan, Symbolizer& symbolizer, const SlowestProfileOptions& options) {
    const auto measure = PERFLEET_TRY(choose_operation_measure(scan, options.operations));
    MemoryShare share{scan.memory()};
    const auto operations = PERFLEET_TRY(find_operations(scan, options.operations, share));
    SlowestProfile profile{symbolizer, scan, options.each_address};
    PERFLEET_TRY(visit_operation_samples(scan, measure, operations,
                                         [&](const EpochOperationSamples& epoch) { profile.add(epoch); }));
    Answer answer;
    answer.warnings = operations.warnings;
    const auto percent = static_cast<double>(100 * options.operations.slowest->fraction());
    answer.warnings.push_back(
        fmt::format("slowest {:g} % of {}: {} of {} operations, from {} on; samples fell into {} of these ({}), "
                    "and into {} of the others ({})",
                    percent, operations.name, operations.slow_count, operations.count, operations.duration_text(),
                    profile.side(kSlow).clusters, counted_noun(profile.sample_count(kSlow), "sample"),
                    profile.side(kOther).clusters, counted_noun(profile.sample_count(kOther), "sample")));
    if (profile.outside() != 0) {
        answer.warnings.push_back(fmt::format("{} {} fell into no operation of their thread and aren't counted",
                                              profile.outside(), measure.unit));
    }
    if (profile.side(kSlow).clusters < 2) {
        answer.warnings.emplace_back(
            "samples fell into fewer than two of the slowest operations: record longer, with a higher -F, or take more "
            "of them (--slowest)");
    }
    DiffLines lines{{{"symbol", ""}, {"image", ""}}, {}};
    profile.add_lines(lines, answer.warnings);
    DiffOptions judging;
    judging.row_count_max = options.row_count_max;
    PERFLEET_TRY(lines.finish(judging, true, answer));
    keep_columns(answer);
    PERFLEET_TRY(scan.memory().check());
    profile.names().add_hint(options.each_address ? FrameNames::HintAt::kNoAddresses : FrameNames::HintAt::kAddresses,
                             answer.warnings);
    set_measure(measure, profile.total(), answer);
    finish_profile(scan, measure, profile.total(), symbolizer, answer.ledger, answer.warnings);
    return answer;
}

}  // namespace perfleet
