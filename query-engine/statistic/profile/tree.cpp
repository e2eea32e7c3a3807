#include "query-engine/statistic/profile/tree.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "query-engine/statistic/answer/answer_size.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/frame_names.h"
#include "query-engine/statistic/stack/source_expansion.h"
#include "query-engine/statistic/stack/stack_totals.h"
#include "storage/number/flat_table.h"

namespace perfleet {
namespace {

struct Branch {
    std::uint32_t name = 0;  // of FrameNames; of the commands at depth 0
    std::uint32_t depth = 0;
    bool is_command = false;
    Sum total;
    Sum self;
    std::vector<std::uint32_t> callees;
};

constexpr std::size_t kColumns = 9;

class CallTree {
public:
    CallTree(Symbolizer& symbolizer, QueryMemory& memory, unsigned worker_count, const TreeOptions& options)
        : names_{symbolizer, memory, worker_count, FrameNames::wanted(options.each_address)},
          options_{options},
          share_{memory} {
        branches_.emplace_back();
    }

    // Stops counting if the memory is exceeded.
    void add(const Measure& measure, const EpochStackCounts& epoch) {
        total_ += epoch.total;
        names_.name_epoch(*epoch.dictionary, epoch.counts);
        if (node_branches_.size() < epoch.dictionary->stack_count()) {
            node_branches_.resize(epoch.dictionary->stack_count());
        }
        const auto end = epoch.counts.end();
        for (auto count = epoch.counts.begin(); count != end;) {
            const auto first = count;
            count = std::find_if(first, end,
                                 [&](const StackCount& other) { return other.runner_index != first->runner_index; });
            if (options_.is_inverted) {
                add_chains(*epoch.dictionary, {first, count});
            } else {
                add_calls(epoch, root_name(measure, epoch, epoch.runners[first->runner_index]), {first, count});
            }
            share_.set(size_bytes());
            if (share_.is_exceeded()) {
                return;
            }
        }
    }

    [[nodiscard]] bool empty() const { return branches_.size() == 1; }
    [[nodiscard]] const FrameNames& names() const { return names_; }
    [[nodiscard]] const RowTotal& total() const { return total_; }

    // Incomplete if the memory is exceeded.
    void write(Answer& answer) {
        std::vector<std::uint32_t> open{sorted_callees(0)};
        while (!open.empty() && !share_.is_exceeded()) {
            const std::uint32_t index = open.back();
            open.pop_back();
            const Branch& branch = branches_[index];
            answer.rows.push_back({std::uint64_t{branch.depth}, text(branch),
                                   branch.is_command ? AnswerValue{} : AnswerValue{image(branch)},
                                   integer_value(branch.total.amount), total_.percent(branch.total),
                                   integer_value(branch.self.amount), total_.percent(branch.self), branch.total.rows,
                                   branch.self.rows});
            share_.add(answer_row_size_bytes(kColumns) + answer_text_size_bytes(answer.rows.back()));
            const std::vector<std::uint32_t> callees = sorted_callees(index);
            open.insert(open.end(), callees.begin(), callees.end());
        }
    }

private:
    [[nodiscard]] std::size_t size_bytes() const {
        constexpr std::size_t kCalleesSizeBytes = 3 * kAllocationSizeBytes;  // of one branch, about
        return names_.size_bytes() + commands_.size_bytes() + node_branches_.capacity() * sizeof(std::uint32_t) +
               branches_.capacity() * sizeof(Branch) + branches_.size() * kCalleesSizeBytes + numbers_.size_bytes();
    }

    void add_calls(const EpochStackCounts& epoch, const std::string& root, std::span<const StackCount> counts) {
        const std::uint32_t command = callee(0, commands_.number_of(root));
        for (const NodeTotal& node : totals_.of(*epoch.dictionary, counts)) {
            add_node(node, command);
        }
    }

    // Callers come before what they called.
    void add_node(const NodeTotal& node, std::uint32_t command) {
        if (node.node.value >= node_branches_.size()) {
            node_branches_.resize(std::size_t{node.node.value} + 1);
        }
        const bool is_outermost = node.caller == kEmptyStack;
        const std::uint32_t branch =
            callee(is_outermost ? command : node_branches_[node.caller.value], names_.number_of(node.node));
        node_branches_[node.node.value] = branch;
        branches_[branch].total += node.total;
        branches_[branch].self += node.self;
        if (is_outermost) {
            branches_[command].total += node.total;
        }
    }

    // Each chain from its innermost frame out.
    void add_chains(const EpochDictionary& dictionary, std::span<const StackCount> counts) {
        for (const StackCount& count : counts) {
            std::uint32_t branch = 0;
            StackNumber node = count.stack;
            do {
                branch = callee(branch, names_.number_of(node));
                branches_[branch].total += count.sum;
                node = caller_of(dictionary, node);
            } while (node != kEmptyStack);
            branches_[branch].self += count.sum;
        }
    }

    // Unless the tree is inverted, the root calls only commands: a `name` is either a command's or a function's.
    std::uint32_t callee(std::uint32_t caller, std::uint32_t name) {
        std::uint32_t& number = numbers_.number_of(caller, name);
        if (number == 0) {
            number = static_cast<std::uint32_t>(branches_.size());
            branches_[caller].callees.push_back(number);
            branches_.push_back({name,
                                 caller == 0 ? 0 : branches_[caller].depth + 1,
                                 caller == 0 && !options_.is_inverted,
                                 {},
                                 {},
                                 {}});
        }
        return number;
    }

    [[nodiscard]] std::string text(const Branch& branch) const {
        return branch.is_command ? commands_.text(branch.name) : names_.symbols().text(names_.name(branch.name).symbol);
    }
    [[nodiscard]] std::string image(const Branch& branch) const {
        return branch.is_command ? std::string{} : names_.images().text(names_.name(branch.name).image);
    }

    // In reverse order: the last one is written first.
    [[nodiscard]] std::vector<std::uint32_t> sorted_callees(std::uint32_t caller) const {
        std::vector<std::uint32_t> callees;
        for (const std::uint32_t index : branches_[caller].callees) {
            if (std::abs(total_.percent(branches_[index].total)) >= options_.percent_min) {
                callees.push_back(index);
            }
        }
        std::sort(callees.begin(), callees.end(), [&](std::uint32_t a, std::uint32_t b) {
            const Branch& first = branches_[a];
            const Branch& second = branches_[b];
            if (first.total != second.total) {
                return std::tuple{first.total.magnitude(), first.total.amount, first.total.rows} <
                       std::tuple{second.total.magnitude(), second.total.amount, second.total.rows};
            }
            return std::tuple{text(first), image(first)} > std::tuple{text(second), image(second)};
        });
        return callees;
    }

    FrameNames names_;
    TextNumbers commands_;
    const TreeOptions& options_;
    StackTotals totals_;
    RowTotal total_;
    std::vector<std::uint32_t> node_branches_;  // of the current runner's nodes
    std::vector<Branch> branches_;              // the first is the root
    CalleeTable numbers_;                       // by (caller, name)
    MemoryShare share_;
};

}  // namespace

const OptionTable<TreeOptions>& tree_options() {
    static const OptionTable<TreeOptions> kTable =
        OptionTable<TreeOptions>{}
            .value({.name = "min-percent",
                    .type = OptionType::kReal,
                    .value_name = "P",
                    .summary = "leave out branches below (default: 1 in text)",
                    .aliases = {"percent-limit"},
                    .max = 100},
                   &TreeOptions::percent_min)
            .flag("addresses", &TreeOptions::each_address,
                  "show each address that has no symbol, not its function or image")
            .flag("inverted", &TreeOptions::is_inverted,
                  "from the innermost function out to its callers, instead of from the outermost in")
            .flag("inlines", &TreeOptions::has_inlines,
                  "show inlined functions as calls, from debug information (`NAME (inlined)`)");
    return kTable;
}

Result<Answer> make_tree(const Scan& scan, Symbolizer& symbolizer, const TreeOptions& options) {
    const auto measure = PERFLEET_TRY(choose_measure(scan));
    const std::string unit = measure ? measure->unit : kRowUnit;
    Answer answer;
    answer.columns = {{"depth", ""},
                      {"symbol", ""},
                      {"image", ""},
                      {"total", unit},
                      {"total_percent", "percent"},
                      {"self", unit},
                      {"self_percent", "percent"},
                      {"total_samples", kRowUnit},
                      {"self_samples", kRowUnit}};
    if (!measure) {
        answer.warnings.push_back(no_samples_text(scan));
        return answer;
    }
    CallTree tree{symbolizer, scan.memory(), scan.worker_count(), options};
    SourceExpansion expansion{symbolizer, scan.memory(), {.has_inlines = options.has_inlines}};
    PERFLEET_TRY(
        expansion.visit(scan, *measure, {}, [&](const EpochStackCounts& epoch) { tree.add(*measure, epoch); }));
    tree.write(answer);
    PERFLEET_TRY(scan.memory().check());
    set_measure(*measure, tree.total(), answer);
    warn_of_no_samples(*measure, !tree.empty(), answer.warnings);
    tree.names().add_hint(options.each_address ? FrameNames::HintAt::kNoAddresses : FrameNames::HintAt::kAddresses,
                          answer.warnings);
    finish_profile(scan, *measure, tree.total(), symbolizer, answer.ledger, answer.warnings);
    return answer;
}

}  // namespace perfleet
