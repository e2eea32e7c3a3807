#include "query-engine/statistic/profile/top.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "query-engine/select/cgroup_path.h"
#include "query-engine/statistic/answer/answer_size.h"
#include "query-engine/statistic/answer/usage.h"
#include "query-engine/statistic/profile/slowest.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/frame_counts.h"
#include "query-engine/statistic/stack/frame_names.h"
#include "query-engine/statistic/stack/source_expansion.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "storage/select/matcher.h"

namespace perfleet {
namespace {

constexpr const char* kOutermost = "[outermost]";

// Of --callers: one row for each caller: the samples in whose call chain it calls the function directly, each sample
// once, and their share of the samples with the function in their chain. If the function is the outermost frame the
// caller is "[outermost]". With recursion a sample may count for several callers. Rows: descending by samples, then
// ascending by text.
class Callers {
public:
    Callers(Symbolizer& symbolizer, const Scan& scan, const TopOptions& options)
        : names_{symbolizer, scan.memory(), scan.worker_count(), FrameNames::wanted(options.each_address)},
          function_{options.callers_of} {}

    void add(const EpochStackCounts& epoch) {
        names_.name_epoch(*epoch.dictionary, epoch.counts);
        for (const StackCount& count : epoch.counts) {
            callers_.clear();
            for (StackNumber node = count.stack; node != kEmptyStack;) {
                const StackNumber caller = caller_of(*epoch.dictionary, node);
                if (is_function(names_.number_of(node))) {
                    callers_.insert(caller == kEmptyStack ? kNoCaller : names_.number_of(caller));
                }
                node = caller;
            }
            for (const std::uint32_t caller : callers_) {
                sums_[caller] += count.sum;
            }
            function_total_ += callers_.empty() ? Sum{} : count.sum;
        }
        total_ += epoch.total;
    }

    [[nodiscard]] const Sum& function_total() const { return function_total_; }
    [[nodiscard]] const RowTotal& total() const { return total_; }

    void write(Answer& answer, std::optional<std::uint64_t> row_count_max) const {
        std::vector<std::tuple<Sum, std::string, std::string>> rows;
        for (const auto& [caller, sum] : sums_) {
            const bool has_name = caller != kNoCaller;
            rows.emplace_back(sum, has_name ? names_.symbols().text(names_.name(caller).symbol) : kOutermost,
                              has_name ? names_.images().text(names_.name(caller).image) : "");
        }
        std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
            const Sum& first = std::get<0>(a);
            const Sum& second = std::get<0>(b);
            return std::tuple{second.magnitude(), second.rows, std::get<1>(a), std::get<2>(a)} <
                   std::tuple{first.magnitude(), first.rows, std::get<1>(b), std::get<2>(b)};
        });
        rows.resize(std::min<std::uint64_t>(rows.size(), row_count_max.value_or(rows.size())));
        const auto of_function = [&](const Sum& part) {
            return function_total_.amount == 0
                       ? 0
                       : 100.0 * static_cast<double>(part.amount) / static_cast<double>(function_total_.amount);
        };
        for (auto& [sum, symbol, image] : rows) {
            answer.rows.push_back({std::move(symbol), image.empty() ? AnswerValue{} : AnswerValue{std::move(image)},
                                   integer_value(sum.amount), of_function(sum), total_.percent(sum), sum.rows});
        }
    }

private:
    static constexpr std::uint32_t kNoCaller = ~0U;

    // Whether the frame's name is the function's, by the frame's number.
    [[nodiscard]] bool is_function(std::uint32_t number) {
        for (std::size_t i = is_function_.size(); i < names_.name_count(); ++i) {
            is_function_.push_back(names_.symbols().text(names_.name(static_cast<std::uint32_t>(i)).symbol) ==
                                   function_);
        }
        return is_function_[number];
    }

    FrameNames names_;
    const std::string& function_;
    std::vector<bool> is_function_;
    std::map<std::uint32_t, Sum> sums_;  // by number of the caller's name
    std::set<std::uint32_t> callers_;    // of the current chain
    Sum function_total_;
    RowTotal total_;
};

// Errors: kNotFound when no sample has such a function.
Result<Answer> make_callers(const Scan& scan, Symbolizer& symbolizer, const TopOptions& options,
                            const Measure& measure) {
    Callers callers{symbolizer, scan, options};
    SourceExpansion expansion{symbolizer, scan.memory(), {.has_inlines = options.has_inlines}};
    PERFLEET_TRY(expansion.visit(scan, measure, {}, [&](const EpochStackCounts& epoch) { callers.add(epoch); }));
    if (callers.function_total().rows == 0) {
        return Error{ErrorCode::kNotFound, "--callers: no sample of the selection has the function \"" +
                                               options.callers_of.substr(0, 256) + "\" in its call chain"};
    }
    Answer answer;
    answer.columns = {{"caller", ""},
                      {"image", ""},
                      {"total", measure.unit},
                      {"of_function_percent", "percent"},
                      {"total_percent", "percent"},
                      {"total_samples", kRowUnit}};
    callers.write(answer, options.row_count_max);
    set_measure(measure, callers.total(), answer);
    finish_profile(scan, measure, callers.total(), symbolizer, answer.ledger, answer.warnings);
    return answer;
}

// Runner::slice distinguishes two parts of a measure.
constexpr std::uint32_t kSecondPart = 1;

// The owner of a row's samples; fields that aren't requested are empty.
struct TopGroup {
    Runner runner;
    CgroupOwner owner;
    std::vector<std::string> labels;  // values, as TopOptions::labels

    friend auto operator<=>(const TopGroup&, const TopGroup&) = default;
};

struct TopRow {
    std::string symbol;
    std::string line;
    std::string image;
    const TopGroup& group;
};

AnswerValue line_value(const std::string& line) { return line.empty() ? AnswerValue{} : AnswerValue{line}; }
AnswerValue task_id(std::uint32_t id) { return std::int64_t{static_cast<std::int32_t>(id)}; }

// A column by which rows are distinguished.
struct TopKey {
    bool TopOptions::*is_asked;
    const char* column;
    std::vector<const char*> names;  // in `--by`, with perf's
    AnswerValue (*value)(const TopRow& row);
    bool is_always_there = false;
};

// In the order of the columns.
const std::vector<TopKey>& top_keys() {
    using Row = const TopRow&;
    using Value = AnswerValue;
    using Top = TopOptions;
    static const std::vector<TopKey> kKeys{
        {&Top::by_symbol, "symbol", {"symbol", "sym"}, [](Row row) { return Value{row.symbol}; }, true},
        {&Top::by_line, "line", {"line", "srcline"}, [](Row row) { return line_value(row.line); }},
        {&Top::by_image, "image", {"image", "dso"}, [](Row row) { return Value{row.image}; }, true},
        {&Top::by_command,
         "command",
         {"command", "comm"},
         [](Row row) { return Value{row.group.runner.command}; },
         true},
        {&Top::by_thread, "pid", {"thread", "pid"}, [](Row row) { return task_id(row.group.runner.pid); }},
        {&Top::by_thread, "tid", {"tid"}, [](Row row) { return task_id(row.group.runner.tid); }},
        {&Top::by_cpu, "cpu", {"cpu"}, [](Row row) { return Value{std::int64_t{row.group.runner.cpu}}; }},
        {&Top::by_unit, "unit", {"unit"}, [](Row row) { return Value{row.group.owner.unit}; }},
        {&Top::by_pod, "pod", {"pod"}, [](Row row) { return Value{row.group.owner.pod}; }},
        {&Top::by_container, "container", {"container"}, [](Row row) { return Value{row.group.owner.container}; }},
        {&Top::by_cgroup, "cgroup", {"cgroup"}, [](Row row) { return Value{row.group.runner.cgroup}; }},
    };
    return kKeys;
}

std::string key_names() {
    std::string names;
    for (const TopKey& key : top_keys()) {
        names += std::string{key.names.front()} + ", ";
    }
    return names + "target, arch";
}

// The thread column brings the command column.
bool is_shown(const TopKey& key, const TopOptions& options) {
    return options.*key.is_asked || (key.is_asked == &TopOptions::by_command && options.by_thread);
}

bool has_parts(const Measure& measure) { return measure.parts.size() > 1; }

std::vector<AnswerColumn> columns_of_top(const TopOptions& options, const Measure& measure) {
    const std::string& unit = measure.unit;
    std::vector<AnswerColumn> columns;
    for (const TopKey& key : top_keys()) {
        if (key.is_always_there || is_shown(key, options)) {
            columns.push_back({key.column, ""});
        }
    }
    for (const std::string& label : options.labels) {
        columns.push_back({label, ""});
    }
    columns.push_back({"self", unit});
    columns.push_back({"self_percent", "percent"});
    columns.push_back({"self_samples", kRowUnit});
    for (std::size_t part = 0; has_parts(measure) && part < measure.parts.size(); ++part) {
        columns.push_back({measure.part_name(part), unit});
    }
    if (!options.self_only) {
        columns.push_back({"children", unit});
        columns.push_back({"children_percent", "percent"});
        columns.push_back({"children_samples", kRowUnit});
    }
    return columns;
}

constexpr std::size_t kLabelsMax = 8;

// Names of perf for columns that are always there.
constexpr std::string_view kFigures[]{"overhead", "overhead_children", "sample", "period"};

Result<Done> read_by(const std::string& text, TopOptions& top) {
    std::vector<std::string> names = split_list(text);
    if (std::erase_if(names,
                      [](const std::string& name) { return std::ranges::find(kFigures, name) != std::end(kFigures); });
        names.empty()) {
        return Done{};
    }
    for (const TopKey& key : top_keys()) {
        top.*key.is_asked = false;
    }
    top.labels.clear();
    for (const std::string& name : names) {
        const auto key = std::find_if(top_keys().begin(), top_keys().end(), [&](const TopKey& one) {
            return std::find(one.names.begin(), one.names.end(), name) != one.names.end();
        });
        if (key != top_keys().end()) {
            top.*key->is_asked = true;
        } else if (std::ranges::find(top.labels, name) == top.labels.end()) {
            top.labels.push_back(name);
        }
    }
    return top.labels.size() <= kLabelsMax
               ? Result<Done>{Done{}}
               : option_error("by", text, "at most " + std::to_string(kLabelsMax) + " labels");
}

// Which labels there are is known once the sessions are.
Result<Done> check_labels(const Scan& scan, const TopOptions& options) {
    for (const std::string& label : options.labels) {
        const bool has_each = label == "target" || label == "arch" || label == "session";
        if (!has_each && std::ranges::none_of(scan.sessions(), [&](const ScannedSession& session) {
                return !matched_value(session.record, label).empty();
            })) {
            return option_error(
                "by", label,
                "one of " + key_names() + ", or a label of a selected session (perfleet labels lists them)");
        }
    }
    return Done{};
}

TopGroup group_of_runner(const Runner& runner, const TopOptions& options) {
    constexpr const char* kNone = "[none]";
    constexpr const char* kUnknown = "[unknown]";
    TopGroup group;
    if (options.by_thread) {
        group.runner = runner;
        group.runner.cgroup.clear();
    } else if (options.by_command) {
        group.runner.command = runner.command;
    }
    group.runner.cpu = runner.cpu;
    if (!options.needs_cgroups()) {
        return group;
    }
    const bool is_known = !runner.cgroup.empty();
    const CgroupOwner owner = owner_of_cgroup(runner.cgroup);
    const auto label = [&](bool is_asked, std::string& place, std::string_view value) {
        if (is_asked) {
            place = !is_known ? kUnknown : value.empty() ? kNone : value;
        }
    };
    label(options.by_container, group.owner.container, short_container(owner.container));
    label(options.by_pod, group.owner.pod, owner.pod);
    label(options.by_unit, group.owner.unit, owner.unit);
    label(options.by_cgroup, group.runner.cgroup, runner.cgroup);
    return group;
}

// Incomplete if the memory is exceeded.
Answer answer_of(const FrameCounts<TopGroup>& counts, const TopOptions& options, const Measure& measure,
                 MemoryShare& share) {
    struct Row {
        std::uint32_t frame;
        const TopGroup* group;
        FrameCount counts;
        Sum second_part;  // of counts.self
    };
    Answer answer;
    std::vector<Row> rows;
    share.set(counts.entry_count() * sizeof(Row));
    if (share.is_exceeded()) {
        return answer;
    }
    rows.reserve(counts.entry_count());
    for (const auto& [group, frames] : counts.groups()) {
        const bool is_second = group.runner.slice == kSecondPart;
        TopGroup other = group;
        other.runner.slice = is_second ? 0 : kSecondPart;
        const auto twin = counts.groups().find(other);
        for (const auto& [frame, entry] : frames) {
            Row row{frame, &group, entry, is_second ? entry.self : Sum{}};
            if (twin != counts.groups().end()) {
                if (const auto in_twin = twin->second.find(frame); in_twin != twin->second.end()) {
                    if (is_second) {
                        continue;  // included in the row of the first part
                    }
                    row.counts.self += in_twin->second.self;
                    row.counts.children += in_twin->second.children;
                    row.second_part = in_twin->second.self;
                }
            }
            const Sum& least = options.self_only ? row.counts.self : row.counts.children;
            if (std::abs(counts.total().percent(least)) >= options.percent_min) {
                rows.push_back(row);
            }
        }
    }
    const auto before = [&](const Row& a, const Row& b) {
        for (Sum FrameCount::*const sum : {&FrameCount::self, &FrameCount::children}) {
            const Sum& first = a.counts.*sum;
            const Sum& second = b.counts.*sum;
            if (first != second) {
                return std::tuple{first.magnitude(), first.amount, first.rows} >
                       std::tuple{second.magnitude(), second.amount, second.rows};
            }
        }
        const auto order = counts.compare(a.frame, b.frame);
        return order != 0 ? order < 0 : *a.group < *b.group;
    };
    const std::size_t row_count =
        static_cast<std::size_t>(std::min<std::uint64_t>(options.row_count_max.value_or(rows.size()), rows.size()));
    std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(row_count), rows.end(), before);
    rows.resize(row_count);
    answer.columns = columns_of_top(options, measure);
    share.add(row_count * answer_row_size_bytes(answer.columns.size()));
    if (share.is_exceeded()) {
        return answer;
    }
    answer.rows.reserve(row_count);
    for (const Row& row : rows) {
        std::vector<AnswerValue> values;
        values.reserve(answer.columns.size());
        std::string symbol = counts.symbol(row.frame);
        std::string line;
        if (options.by_line && options.by_symbol) {
            const std::size_t end = std::min(symbol.find(SourceExpansion::kLineSeparator), symbol.size());
            line = end < symbol.size() ? symbol.substr(end + 1) : "";
            symbol.resize(end);
        } else if (options.by_line) {
            line = symbol;
        }
        const TopRow shown_row{std::move(symbol), std::move(line), counts.image(row.frame), *row.group};
        for (const TopKey& key : top_keys()) {
            if (is_shown(key, options)) {
                values.push_back(key.value(shown_row));
            } else if (key.is_always_there) {
                values.emplace_back();
            }
        }
        values.insert(values.end(), row.group->labels.begin(), row.group->labels.end());
        const auto add = [&](const Sum& sum) {
            values.push_back(integer_value(sum.amount));
            values.emplace_back(counts.total().percent(sum));
            values.emplace_back(sum.rows);
        };
        add(row.counts.self);
        if (has_parts(measure)) {
            values.push_back(integer_value(row.counts.self.amount - row.second_part.amount));
            values.push_back(integer_value(row.second_part.amount));
        }
        if (!options.self_only) {
            add(row.counts.children);
        }
        share.add(answer_text_size_bytes(values));
        if (share.is_exceeded()) {
            return answer;
        }
        answer.rows.push_back(std::move(values));
    }
    return answer;
}

Result<Done> check_top_options(const OptionValues& values, TopOptions& options) {
    PERFLEET_TRY(check_slowest(options.slowest));
    for (const char* name : {"by", "callers", "lines", "inlines", "no-children", "min-percent"}) {
        if (options.slowest.is_given() && values.contains(name)) {
            return usage("--" + std::string{name} + ": not together with --slowest, which has a row a function");
        }
    }
    for (const char* name : {"no-children", "min-percent"}) {
        if (!options.callers_of.empty() && values.contains(name)) {
            return usage("--" + std::string{name} + ": not together with --callers, which has a row a caller");
        }
    }
    return Done{};
}

OptionTable<TopOptions> make_top_options() {
    OptionTable<TopOptions> table;
    table.list("by", "WHAT", key_names() + " or a label of sessions; several with commas", read_by, {"s", "sort"})
        .value({"callers", OptionType::kText, "FUNCTION", "instead: callers of this function, by samples"},
               &TopOptions::callers_of)
        .flag("no-children", &TopOptions::self_only, "leave out the time of callees")
        .value({.name = "min-percent",
                .type = OptionType::kReal,
                .value_name = "P",
                .summary = "leave out rows below, of children or else self",
                .aliases = {"percent-limit"},
                .max = 100},
               &TopOptions::percent_min)
        .count("limit", "N", "rows at most (default: 40 in text, else all)", &TopOptions::row_count_max)
        .flag("addresses", &TopOptions::each_address, "show each address that has no symbol, not its function or image")
        .flag("lines", &TopOptions::by_line,
              "also by source line, from debug information: --by symbol,line,image,command")
        .flag("inlines", &TopOptions::has_inlines,
              "count inlined functions as functions, from debug information (`NAME (inlined)`)");
    add_slowest_options(table, &TopOptions::slowest);
    return table.finish(check_top_options);
}

}  // namespace

const OptionTable<TopOptions>& top_options() {
    static const OptionTable<TopOptions> kTable = make_top_options();
    return kTable;
}

Result<Answer> make_top(const Scan& scan, Symbolizer& symbolizer, const TopOptions& options) {
    if (options.slowest.is_given()) {
        return make_slowest(scan, symbolizer, {options.slowest, options.each_address, options.row_count_max});
    }
    PERFLEET_TRY(check_labels(scan, options));
    const auto chosen = PERFLEET_TRY(choose_measure(scan));
    Answer answer;
    if (!chosen.has_value()) {
        Measure none;
        none.unit = kRowUnit;
        answer.columns = columns_of_top(options, none);
        answer.warnings.push_back(no_samples_text(scan));
        return answer;
    }
    const Measure& measure = *chosen;
    if (!options.callers_of.empty()) {
        return make_callers(scan, symbolizer, options, measure);
    }
    FrameCounts<TopGroup> counts{symbolizer,          scan.memory(),
                                 scan.worker_count(), options.by_symbol || options.by_line,
                                 options.by_image,    FrameNames::wanted(options.each_address)};
    SourceExpansion expansion{
        symbolizer,
        scan.memory(),
        {options.has_inlines && (options.by_symbol || options.by_line), options.by_line, !options.by_symbol}};
    const StackCountOptions wanted{.per_thread = options.by_thread,
                                   .per_cgroup = options.needs_cgroups(),
                                   .per_cpu = options.by_cpu,
                                   .per_session = !options.labels.empty()};
    PERFLEET_TRY(expansion.visit(scan, measure, wanted, [&](const EpochStackCounts& epoch) {
        std::vector<std::string> labels;
        for (const std::string& label : options.labels) {
            labels.push_back(matched_value(scan.sessions()[epoch.session_index].record, label));
        }
        counts.add(epoch, [&](const Runner& runner) {
            TopGroup group = group_of_runner(runner, options);
            group.labels = labels;
            group.runner.slice = static_cast<std::uint32_t>(epoch.part);
            return group;
        });
    }));
    MemoryShare share{scan.memory()};
    answer = answer_of(counts, options, measure, share);
    PERFLEET_TRY(scan.memory().check());
    set_measure(measure, counts.total(), answer);
    warn_of_no_samples(measure, !counts.groups().empty(), answer.warnings);
    counts.names().add_hint(options.each_address ? FrameNames::HintAt::kNoAddresses : FrameNames::HintAt::kAddresses,
                            answer.warnings);
    finish_profile(scan, measure, counts.total(), symbolizer, answer.ledger, answer.warnings);
    return answer;
}

}  // namespace perfleet
