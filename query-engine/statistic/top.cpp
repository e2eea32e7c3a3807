#include "query-engine/statistic/top.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "query-engine/statistic/event_choice.h"
#include "query-engine/statistic/frame_names.h"
#include "query-engine/statistic/stack_counts.h"

namespace perfleet {
namespace {

struct Counts {
    std::uint64_t self = 0;
    std::uint64_t children = 0;
};

// Adds up the epochs. Frames are numbered by what the rows are told apart by, so that a number is one row of a runner.
class TopTable {
public:
    TopTable(Symbolizer& symbolizer, const TopOptions& options) : options_{options}, names_{symbolizer} {}

    void add(const EpochStackCounts& epoch) {
        names_.begin_epoch(*epoch.dictionary);
        node_frames_.assign(std::max<std::size_t>(epoch.dictionary->stack_count(), 1), kUnknownFrame);
        const auto end = epoch.counts.end();
        for (auto count = epoch.counts.begin(); count != end;) {
            const std::uint32_t runner_index = count->runner_index;
            for (; count != end && count->runner_index == runner_index; ++count) {
                add_chain(*epoch.dictionary, *count);
            }
            flush(epoch.runners[runner_index]);
        }
    }

    [[nodiscard]] Answer answer(const EventChoice& event) const;

private:
    static constexpr std::uint32_t kUnknownFrame = ~0U;

    struct FrameRow {
        std::string symbol;
        std::string image;
    };
    struct FrameSum {
        Counts counts;
        std::uint64_t last_chain = 0;  // the chain that was counted last, so that a recursive one counts once
    };

    void add_chain(const EpochDictionary& dictionary, const StackCount& count) {
        ++chain_;
        total_ += count.value;
        const std::uint32_t leaf = frame_of(count.stack);
        touch(leaf).counts.self += count.value;
        chain_of(dictionary, count.stack, chain_nodes_);
        for (const StackNumber node : chain_nodes_) {
            FrameSum& sum = touch(frame_of(node));
            if (sum.last_chain != chain_) {
                sum.last_chain = chain_;
                sum.counts.children += count.value;
            }
        }
    }

    FrameSum& touch(std::uint32_t frame) {
        FrameSum& sum = frame_sums_[frame];
        if (sum.counts.self == 0 && sum.counts.children == 0) {
            touched_.push_back(frame);
        }
        return sum;
    }

    std::uint32_t frame_of(StackNumber node) {
        const bool is_known = node.value < node_frames_.size();
        if (is_known && node_frames_[node.value] != kUnknownFrame) {
            return node_frames_[node.value];
        }
        std::uint32_t symbol = 0;
        std::uint32_t image = 0;
        if (options_.by_symbol || options_.by_image) {
            const FrameName name = names_.name_of(node);
            symbol = options_.by_symbol ? name.symbol : 0;
            image = options_.by_image ? name.image : 0;
        }
        const std::uint64_t key = std::uint64_t{symbol} << 32U | image;
        const auto [entry, is_new] = frame_numbers_.try_emplace(key, static_cast<std::uint32_t>(frame_rows_.size()));
        if (is_new) {
            frame_rows_.push_back({options_.by_symbol ? names_.symbols().text(symbol) : std::string{},
                                   options_.by_image ? names_.images().text(image) : std::string{}});
            frame_sums_.emplace_back();
        }
        if (is_known) {
            node_frames_[node.value] = entry->second;
        }
        return entry->second;
    }

    void flush(const Runner& runner) {
        Runner group;
        if (options_.by_thread) {
            group = runner;
        } else if (options_.by_command) {
            group.command = runner.command;
        }
        std::unordered_map<std::uint32_t, Counts>& rows = rows_[group];
        for (const std::uint32_t frame : touched_) {
            Counts& row = rows[frame];
            row.self += frame_sums_[frame].counts.self;
            row.children += frame_sums_[frame].counts.children;
            frame_sums_[frame].counts = {};
        }
        touched_.clear();
    }

    const TopOptions& options_;
    FrameNames names_;
    std::vector<std::uint32_t> node_frames_;  // of the epoch
    std::unordered_map<std::uint64_t, std::uint32_t> frame_numbers_;
    std::vector<FrameRow> frame_rows_;
    std::vector<FrameSum> frame_sums_;    // of the runner at hand; as frame_rows_
    std::vector<std::uint32_t> touched_;  // frames with a sum
    std::vector<StackNumber> chain_nodes_;
    std::uint64_t chain_ = 0;
    std::uint64_t total_ = 0;
    std::map<Runner, std::unordered_map<std::uint32_t, Counts>> rows_;
};

double percent_of(std::uint64_t part, std::uint64_t total) {
    return total == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(total);
}

std::vector<AnswerColumn> columns_of_top(const TopOptions& options, const std::string& unit) {
    std::vector<AnswerColumn> columns{{"symbol", ""}, {"image", ""}, {"command", ""}};
    if (options.by_thread) {
        columns.push_back({"pid", ""});
        columns.push_back({"tid", ""});
    }
    columns.push_back({"self", unit});
    columns.push_back({"self_percent", "percent"});
    columns.push_back({"children", unit});
    columns.push_back({"children_percent", "percent"});
    return columns;
}

Answer TopTable::answer(const EventChoice& event) const {
    struct Row {
        const FrameRow* frame;
        const Runner* runner;
        Counts counts;
    };
    std::vector<Row> rows;
    for (const auto& [runner, frames] : rows_) {
        for (const auto& [frame, counts] : frames) {
            rows.push_back({&frame_rows_[frame], &runner, counts});
        }
    }
    const auto place = [](const Row& row) {
        return std::tie(row.frame->symbol, row.frame->image, row.runner->command, row.runner->pid, row.runner->tid);
    };
    const auto before = [&](const Row& a, const Row& b) {
        if (a.counts.self != b.counts.self) {
            return a.counts.self > b.counts.self;
        }
        if (a.counts.children != b.counts.children) {
            return a.counts.children > b.counts.children;
        }
        return place(a) < place(b);
    };
    const std::size_t row_count =
        static_cast<std::size_t>(std::min<std::uint64_t>(options_.row_count_max.value_or(rows.size()), rows.size()));
    std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(row_count), rows.end(), before);
    rows.resize(row_count);

    Answer answer;
    answer.columns = columns_of_top(options_, options_.sum_weights ? event.unit : "samples");
    for (const Row& row : rows) {
        const auto text = [](bool is_shown, const std::string& value) {
            return is_shown ? AnswerValue{value} : AnswerValue{};
        };
        std::vector<AnswerValue> values{text(options_.by_symbol, row.frame->symbol),
                                        text(options_.by_image, row.frame->image),
                                        text(options_.by_command || options_.by_thread, row.runner->command)};
        if (options_.by_thread) {
            values.emplace_back(std::int64_t{static_cast<std::int32_t>(row.runner->pid)});
            values.emplace_back(std::int64_t{static_cast<std::int32_t>(row.runner->tid)});
        }
        values.emplace_back(row.counts.self);
        values.emplace_back(percent_of(row.counts.self, total_));
        values.emplace_back(row.counts.children);
        values.emplace_back(percent_of(row.counts.children, total_));
        answer.rows.push_back(std::move(values));
    }
    return answer;
}

}  // namespace

Result<Answer> make_top(const Scan& scan, Symbolizer& symbolizer, const TopOptions& options) {
    Result<std::optional<EventChoice>> event = choose_event(scan);
    if (!event.ok()) {
        return std::move(event).error();
    }
    Answer answer;
    if (!event->has_value()) {
        answer.columns = columns_of_top(options, "samples");
        answer.warnings.push_back("no samples are in the selection");
        return answer;
    }
    const EventChoice& choice = **event;
    TopTable table{symbolizer, options};
    Result<Done> visited = visit_stack_counts(
        scan,
        StackCountOptions{.event = choice.name, .sum_weights = options.sum_weights, .per_thread = options.by_thread},
        [&](const EpochStackCounts& epoch) { table.add(epoch); });
    if (!visited.ok()) {
        return std::move(visited).error();
    }
    answer = table.answer(choice);
    finish_profile(scan, choice, symbolizer, answer.ledger, answer.warnings);
    return answer;
}

}  // namespace perfleet
