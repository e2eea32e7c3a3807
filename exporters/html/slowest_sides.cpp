#include "exporters/html/slowest_sides.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "query-engine/scan/row_filters.h"

namespace perfleet {
namespace {

using Sums = std::map<std::pair<Runner, std::uint32_t>, Sum>;  // by runner and stack

EpochStackCounts counts_of(const EpochOperationSamples& epoch, const Sums& sums) {
    EpochStackCounts counts;
    counts.session_index = epoch.session_index;
    counts.epoch = epoch.epoch;
    counts.part = epoch.part;
    counts.dictionary = epoch.dictionary;
    for (const auto& [key, sum] : sums) {
        if (counts.runners.empty() || counts.runners.back() != key.first) {
            counts.runners.push_back(key.first);
        }
        counts.counts.push_back({static_cast<std::uint32_t>(counts.runners.size() - 1), StackNumber{key.second}, sum});
    }
    return counts;
}

}  // namespace

Result<Done> count_slowest(const Scan& scan, const Measure& measure, const HtmlOptions& options,
                           const TimeSlices& slices, SourceExpansion& expansion, FlameGraphMaker& maker) {
    MemoryShare share{scan.memory()};
    const auto operations = PERFLEET_TRY(find_operations(scan, options.slowest, share));
    std::optional<Error> error;
    const auto add = [&](const EpochOperationSamples& epoch) -> Result<Done> {
        const auto names = PERFLEET_TRY(read_thread_names(scan, epoch.session_index, epoch.epoch, *epoch.dictionary));
        const ClockMap& clock = scan.sessions()[epoch.session_index].clock;
        Sums slow;
        Sums other;
        for (const OperationSample& sample : epoch.samples) {
            const std::int64_t at = (clock.utc_of(Ticks{sample.ticks}).value - slices.start_ns) / slices.width_ns;
            Runner runner;
            runner.command = names.text(names.at(sample.tid, Ticks{sample.ticks}).name, sample.tid);
            runner.slice = static_cast<std::uint32_t>(std::clamp<std::int64_t>(at, 0, slices.count - 1));
            Sums& sums = epoch.operations->is_slow[sample.operation] ? slow : other;
            sums[{std::move(runner), sample.stack.value}] += Sum::of_rows(1, sample.amount);
        }
        for (const auto& [sums, first_slice] : {std::pair{&slow, 0U}, std::pair{&other, slices.count}}) {
            EpochStackCounts counts = counts_of(epoch, *sums);
            if (sums == &slow) {
                counts.total = epoch.total;  // of both
            }
            if (options.has_inlines) {
                counts = PERFLEET_TRY(expansion.expand(counts));
            }
            maker.add(measure, counts, first_slice);
        }
        return Done{};
    };
    PERFLEET_TRY(visit_operation_samples(scan, measure, operations, [&](const EpochOperationSamples& epoch) {
        if (Result<Done> added = add(epoch); !added.ok() && !error) {
            error = std::move(added).error();
        }
    }));
    return error ? Result<Done>{*error} : Done{};
}

}  // namespace perfleet
