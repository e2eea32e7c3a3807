#include "query-engine/statistic/profile/callers.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "query-engine/statistic/session/measure.h"
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

}  // namespace

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
    answer.measure = answer_measure(measure, callers.total());
    finish_profile(scan, measure, callers.total(), symbolizer, answer.ledger, answer.warnings);
    return answer;
}

}  // namespace perfleet
