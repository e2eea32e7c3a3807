#include "query-engine/statistic/profile/callers.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "query-engine/statistic/session/coverage.h"
#include "query-engine/statistic/stack/frame_names.h"
#include "query-engine/statistic/stack/source_expansion.h"
#include "query-engine/statistic/stack/stack_counts.h"

namespace perfleet {
namespace {

constexpr const char* kOutermost = "[outermost]";

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
                sums_[caller] += count.value;
            }
            function_total_ += callers_.empty() ? 0 : count.value;
            total_ += count.value;
        }
    }

    [[nodiscard]] std::uint64_t function_total() const { return function_total_; }

    void write(Answer& answer, std::optional<std::uint64_t> row_count_max) const {
        std::vector<std::tuple<std::uint64_t, std::string, std::string>> rows;
        for (const auto& [caller, sum] : sums_) {
            const bool has_name = caller != kNoCaller;
            rows.emplace_back(sum, has_name ? names_.symbols().text(names_.name(caller).symbol) : kOutermost,
                              has_name ? names_.images().text(names_.name(caller).image) : "");
        }
        std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
            return std::tie(std::get<0>(b), std::get<1>(a), std::get<2>(a)) <
                   std::tie(std::get<0>(a), std::get<1>(b), std::get<2>(b));
        });
        rows.resize(std::min<std::uint64_t>(rows.size(), row_count_max.value_or(rows.size())));
        const auto percent = [](std::uint64_t part, std::uint64_t whole) {
            return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
        };
        for (auto& [sum, symbol, image] : rows) {
            answer.rows.push_back({std::move(symbol), image.empty() ? AnswerValue{} : AnswerValue{std::move(image)},
                                   sum, percent(sum, function_total_), percent(sum, total_)});
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
    std::map<std::uint32_t, std::uint64_t> sums_;  // by number of the caller's name
    std::set<std::uint32_t> callers_;              // of the current chain
    std::uint64_t function_total_ = 0;
    std::uint64_t total_ = 0;
};

}  // namespace

Result<Answer> make_callers(const Scan& scan, Symbolizer& symbolizer, const TopOptions& options,
                            const EventChoice& event) {
    const bool sum_weights = options.sum_weights || weighs_by_default(scan, event);
    Callers callers{symbolizer, scan, options};
    SourceExpansion expansion{symbolizer, scan.memory(), {.has_inlines = options.has_inlines}};
    PERFLEET_TRY(expansion.visit(scan, StackCountOptions{.event = event.name, .sum_weights = sum_weights},
                                 [&](const EpochStackCounts& epoch) { callers.add(epoch); }));
    if (callers.function_total() == 0) {
        return Error{ErrorCode::kNotFound, "--callers: no sample of the selection has the function \"" +
                                               options.callers_of.substr(0, 256) + "\" in its call chain"};
    }
    const std::string unit = sum_weights ? event.unit : "samples";
    Answer answer;
    answer.columns = {{"caller", ""},
                      {"image", ""},
                      {"total", unit},
                      {"of_function_percent", "percent"},
                      {"total_percent", "percent"}};
    callers.write(answer, options.row_count_max);
    finish_profile(scan, event, symbolizer, answer.ledger, answer.warnings);
    return answer;
}

}  // namespace perfleet
