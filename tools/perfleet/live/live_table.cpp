#include "tools/perfleet/live/live_table.h"

#include <fmt/format.h>

#include "exporters/report/report.h"
#include "schemas/text/layout.h"
#include "tools/perfleet/query/idle_share.h"

namespace perfleet {
namespace {

bool hides_idle(const LiveOptions& options) { return !options.shows_idle && !options.values.contains("tid"); }

}  // namespace

OptionValues live_values(const LiveOptions& options) {
    OptionValues values = options.values;
    if (hides_idle(options)) {
        values["tid"] = kAllButIdle;
    }
    return values;
}

std::string live_head(LiveProfile& profile, const LiveOptions& options, const LiveProfile::Range& range,
                      const Answer& answer) {
    const std::uint64_t count = answer.measure ? answer.measure->samples.value_or(0) : 0;
    std::string head = counted_noun(count, "sample");
    OptionValues event;
    if (answer.measure) {
        head += " of " + answer.measure->event;
        event["event"] = answer.measure->event;
    }
    head += fmt::format(" in {:.1f} s", static_cast<double>(range.until.value - range.from.value) / 1e9);
    std::uint64_t lost = 0;
    for (const auto& [reason, rows] : answer.ledger.lost) {
        lost += rows;
    }
    head += lost == 0 ? "" : fmt::format("; {} lost", lost);
    head += answer.ledger.expired == 0
                ? ""
                : "; " + counted_noun(answer.ledger.expired, "older one") + " dropped (--memory)";
    const std::uint64_t left_out = profile.store().batches_left_out();
    head += left_out == 0 ? "" : "; " + counted_noun(left_out, "batch", "batches") + " left out (--memory)";
    const auto idle = options.collector.all_cpus && hides_idle(options) && answer.measure
                          ? idle_percent(profile.ask("top", busy_or_idle(std::move(event)), range))
                          : std::nullopt;
    return head + (idle ? fmt::format("; idle {:.1f} %, hidden", *idle) : "");
}

}  // namespace perfleet
