#include "query-engine/statistic/latency/latency_command.h"

#include <array>
#include <utility>

#include "query-engine/statistic/answer/usage.h"
#include "query-engine/statistic/latency/latency_bootstrap.h"
#include "query-engine/statistic/latency/option_text.h"

namespace perfleet {
namespace {

// Options that only some views use.
struct OptionUse {
    std::string_view option;
    std::string_view users;
    bool (*is_used)(const LatencyOptions&);
};

constexpr std::uint64_t kBarWidthMax = 1'000;

constexpr std::array kOptionUses{
    OptionUse{"bar-width", "--histogram log2 and linear",
              [](const LatencyOptions& latency) {
                  return latency.view == LatencyView::kHistogram && latency.view_option != "histogram cumulative";
              }},
    OptionUse{"bucket", "--histogram linear and cumulative, and --heat-map",
              [](const LatencyOptions& latency) {
                  return (latency.view == LatencyView::kHistogram && latency.is_linear) ||
                         latency.view == LatencyView::kHeatMap;
              }},
    OptionUse{"confidence", "the plain table, --bootstrap, --kbench, --runs and --sketch",
              [](const LatencyOptions& latency) {
                  return latency.view == LatencyView::kSummary || latency.view == LatencyView::kInference ||
                         latency.view == LatencyView::kRuns || latency.view == LatencyView::kSketch ||
                         latency.view == LatencyView::kBootstrap;
              }},
    OptionUse{"error", "--kbench",
              [](const LatencyOptions& latency) { return latency.view == LatencyView::kInference; }},
    OptionUse{"pair", "the plain table, --bootstrap, --histogram, --heat-map, --runs and --mode",
              [](const LatencyOptions& latency) {
                  return latency.view != LatencyView::kInference && latency.view != LatencyView::kTable &&
                         latency.view != LatencyView::kSketch;
              }},
    OptionUse{"percentiles", "the plain table, --sketch and --mode bernat",
              [](const LatencyOptions& latency) {
                  return latency.view == LatencyView::kSummary || latency.view == LatencyView::kSketch ||
                         latency.view == LatencyView::kBernat;
              }},
    OptionUse{"converged", "--kbench",
              [](const LatencyOptions& latency) { return latency.view == LatencyView::kInference; }},
};

Result<Done> check_latency_combination(const OptionValues& values, LatencyOptions& latency) {
    for (const OptionUse& use : kOptionUses) {
        if (values.contains(std::string{use.option}) && !use.is_used(latency)) {
            return usage("--" + std::string{use.option} + ": " +
                         (latency.view_option.empty() ? "the plain table" : "--" + latency.view_option) +
                         " doesn't use it; it goes with " + std::string{use.users});
        }
    }
    if (latency.view == LatencyView::kBernat) {
        if (!values.contains("percentiles")) {
            latency.percentiles = {Quantile::of_percent(95), Quantile::of_percent(90), kMedian};
        }
        for (const Quantile quantile : latency.percentiles) {
            if (quantile.billionths % Quantile::of_percent(1).billionths != 0) {
                return usage("--percentiles: the article's rule takes whole percents, not " +
                             percentile_name(quantile).substr(1));
            }
        }
    }
    if (latency.view == LatencyView::kInference && !values.contains("confidence")) {
        latency.confidence = 0.90L;
    }
    return Done{};
}

Result<Done> choose(LatencyView view, const std::string& option, LatencyOptions& latency) {
    if (!latency.view_option.empty()) {
        const auto name = [](const std::string& text) { return text.substr(0, text.find(' ')); };
        return usage("--" + name(option) + ": not together with --" + name(latency.view_option));
    }
    latency.view = view;
    latency.view_option = option;
    return Done{};
}

// A flag that chooses a view.
void add_view(OptionTable<LatencyOptions>& table, const char* name, LatencyView view, const char* summary) {
    table.add({name, OptionType::kFlag, "", summary},
              [=](const OptionValue&, LatencyOptions& latency) { return choose(view, name, latency); });
}

void add_fraction(OptionTable<LatencyOptions>& table, const char* name, long double LatencyOptions::*member,
                  const char* summary) {
    table.text({name, OptionType::kText, "P", summary}, [=](const std::string& text, LatencyOptions& latency) {
        const auto fraction = parse_fraction_option(name, text);
        if (!fraction.ok()) {
            return Result<Done>{Error{fraction.error()}};
        }
        latency.*member = *fraction;
        return Result<Done>{Done{}};
    });
}

Result<Done> read_percentiles(const std::string& text, LatencyOptions& latency) {
    latency.percentiles = PERFLEET_TRY(parse_percentiles_option("percentiles", text));
    return Done{};
}

Result<Done> read_pair(const std::string& text, LatencyOptions& latency) {
    latency.pair = PERFLEET_TRY(parse_pair_option(text));
    return Done{};
}

OptionTable<LatencyOptions> make_table() {
    OptionTable<LatencyOptions> table;
    add_view(table, "kbench", LatencyView::kInference,
             "infer the primary latency from accumulated latencies (Kanata Bench)");
    add_view(table, "runs", LatencyView::kRuns,
             "how minimum, median and mean vary from run to run, over all selected runs");
    add_view(table, "sketch", LatencyView::kSketch, "of many values, read once: percentiles off by at most 0.4 %");
    add_view(table, "table", LatencyView::kTable, "the tests themselves, a column a group, and of each test Y = A/N");
    add_view(table, "heat-map", LatencyView::kHeatMap,
             "how many values by time and by size, up to the 99th percentile (-o draws it)");
    table
        .add({.name = "histogram",
              .type = OptionType::kChoice,
              .value_name = "KIND",
              .summary = "distribution of the values; linear and cumulative up to the 95th percentile",
              .choices = {"log2", "linear", "cumulative"}},
             [](const OptionValue& value, LatencyOptions& latency) {
                 const std::string& kind = std::get<std::string>(value);
                 latency.is_linear = kind != "log2";
                 return choose(LatencyView::kHistogram, "histogram " + kind, latency);
             })
        .count("bucket", "N", "width of the buckets of a linear histogram, or of a heat map's steps",
               &LatencyOptions::bucket_width, 1)
        .count("bar-width", "N", "stars of the longest bar of a histogram as text (default: 40)",
               &LatencyOptions::bar_width, 1, kBarWidthMax)
        .add({.name = "mode",
              .type = OptionType::kChoice,
              .value_name = "MODE",
              .summary = "older rules, for comparison with published figures",
              .choices = {"bernat", "bernat-intended", "sel4bench-legacy"}},
             [](const OptionValue& value, LatencyOptions& latency) {
                 const std::string& mode = std::get<std::string>(value);
                 const bool is_intended = mode == "bernat-intended";
                 latency.bernat_rule = is_intended ? BernatRule::kIntended : BernatRule::kPrinted;
                 return choose(mode == "sel4bench-legacy" ? LatencyView::kLegacy : LatencyView::kBernat, "mode " + mode,
                               latency);
             })
        .add({"checklist", OptionType::kFlag, "", "name labels about the measurement that a run lacks"},
             [](const OptionValue&, LatencyOptions& latency) -> Result<Done> {
                 latency.shows_checklist = true;
                 return Done{};
             })
        .count("skip", "K", "leave out the first tests of each group, or the first values",
               &LatencyOptions::skipped_tests);
    table.text({"pair", OptionType::kText, "START,STOP",
                "the time from one tracepoint to the next other one of the same thread, such as "
                "syscalls:sys_enter_read,syscalls:sys_exit_read; of functions and probes EVENT is when a call "
                "ended, EVENT%entry when it began"},
               read_pair);
    table.text({"bootstrap", OptionType::kText, "LIST",
                "these figures with intervals by the bootstrap: mean, sd, cv, median, mad, p99.9"},
               [](const std::string& text, LatencyOptions& latency) -> Result<Done> {
                   latency.bootstrap = PERFLEET_TRY(parse_bootstrap_figures(text));
                   return choose(LatencyView::kBootstrap, "bootstrap", latency);
               });
    add_fraction(table, "confidence", &LatencyOptions::confidence,
                 "of intervals, in percent (default: 95; with --kbench 90)");
    table.text({"percentiles", OptionType::kText, "LIST",
                "which, with commas (default: 90,95,99); nearest rank, and type 7 beside it"},
               read_percentiles);
    add_fraction(table, "error", &LatencyOptions::wanted_fraction,
                 "with --kbench: wanted half-width of the mean's interval, in percent of the mean (default: 2)");
    add_fraction(table, "converged", &LatencyOptions::converged_change,
                 "with --kbench: greatest change of a converged mean/N, in percent (default: 0.5)");
    table.finish(check_latency_combination);
    return table;
}

}  // namespace

const OptionTable<LatencyOptions>& latency_options() {
    static const OptionTable<LatencyOptions> kTable = make_table();
    return kTable;
}

}  // namespace perfleet
