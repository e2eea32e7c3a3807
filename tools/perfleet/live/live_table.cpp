#include "tools/perfleet/live/live_table.h"

#include <fmt/format.h>

#include "exporters/report/report.h"

namespace perfleet {
namespace {

constexpr const char* kAllButIdle = "1-2147483647";  // the idle task's number is 0, on every processor

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
    const std::uint64_t count = answer.measure ? answer.measure->samples : 0;
    std::string head = fmt::format("{} {}", count, count == 1 ? "sample" : "samples");
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
    head += answer.ledger.expired == 0 ? "" : fmt::format("; {} older ones dropped (--memory)", answer.ledger.expired);
    const std::uint64_t left_out = profile.store().batches_left_out();
    head += left_out == 0 ? "" : fmt::format("; {} batches left out (--memory)", left_out);
    const auto idle_percent = options.collector.all_cpus && hides_idle(options) && answer.measure
                                  ? profile.idle_percent(range, event)
                                  : std::nullopt;
    return head + (idle_percent ? fmt::format("; idle {:.1f} %, hidden", *idle_percent) : "");
}

}  // namespace perfleet
