#include "query-engine/statistic/latency_command.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "query-engine/statistic/option_text.h"
#include "query-engine/statistic/usage.h"

namespace perfleet {
namespace {

constexpr std::array<std::string_view, 12> kLatencyOptions{"runs",       "sketch", "kbench",  "table",
                                                           "histogram",  "bucket", "mode",    "skip",
                                                           "confidence", "error",  "settled", "percentiles"};

template <class Number>
bool parse_whole(const std::string& text, Number& number) {
    const char* end = text.data() + text.size();
    const auto [rest, status] = std::from_chars(text.data(), end, number);
    return status == std::errc{} && rest == end && !text.empty();
}

// Options that only some views use.
struct OptionUse {
    std::string_view option;
    std::string_view users;
    bool (*is_used)(const LatencyOptions&);
};

constexpr std::array kOptionUses{
    OptionUse{
        "bucket", "--histogram linear and cumulative",
        [](const LatencyOptions& latency) { return latency.view == LatencyView::kHistogram && latency.is_linear; }},
    OptionUse{"confidence", "the plain table, --kbench, --runs and --sketch",
              [](const LatencyOptions& latency) {
                  return latency.view == LatencyView::kSummary || latency.view == LatencyView::kInference ||
                         latency.view == LatencyView::kRuns || latency.view == LatencyView::kSketch;
              }},
    OptionUse{"error", "--kbench",
              [](const LatencyOptions& latency) { return latency.view == LatencyView::kInference; }},
    OptionUse{"percentiles", "the plain table and --sketch",
              [](const LatencyOptions& latency) {
                  return latency.view == LatencyView::kSummary || latency.view == LatencyView::kSketch;
              }},
    OptionUse{"settled", "--kbench",
              [](const LatencyOptions& latency) { return latency.view == LatencyView::kInference; }},
};

Result<Done> refuse_unused(const std::map<std::string, std::string>& options, const std::string& view,
                           const LatencyOptions& latency) {
    for (const OptionUse& use : kOptionUses) {
        if (options.contains(std::string{use.option}) && !use.is_used(latency)) {
            const std::string kind = view == "histogram" || view == "mode" ? " " + options.at(view) : "";
            return usage("--" + std::string{use.option} + ": " +
                         (view.empty() ? "the plain table" : "--" + view + kind) + " doesn't use it; it goes with " +
                         std::string{use.users});
        }
    }
    return Done{};
}

}  // namespace

bool is_latency_option(std::string_view name) {
    return std::find(kLatencyOptions.begin(), kLatencyOptions.end(), name) != kLatencyOptions.end();
}

Result<LatencyOptions> parse_latency(const std::map<std::string, std::string>& options) {
    LatencyOptions latency;
    std::string view;
    const auto choose = [&](const std::string& name, LatencyView chosen) -> Result<Done> {
        if (!view.empty()) {
            return Error{ErrorCode::kUsage, "--" + name + ": not together with --" + view};
        }
        view = name;
        latency.view = chosen;
        return Done{};
    };
    for (const auto& [name, text] : options) {
        Result<Done> taken = Done{};
        if (name == "kbench") {
            taken = choose(name, LatencyView::kInference);
        } else if (name == "runs") {
            taken = choose(name, LatencyView::kRuns);
        } else if (name == "sketch") {
            taken = choose(name, LatencyView::kSketch);
        } else if (name == "table") {
            taken = choose(name, LatencyView::kTable);
        } else if (name == "histogram") {
            taken = choose(name, LatencyView::kHistogram);
            latency.is_linear = text != "log2";
            if (text != "linear" && text != "log2" && text != "cumulative") {
                return option_error(name, text, "log2, linear or cumulative");
            }
        } else if (name == "mode") {
            taken = choose(name, text == "bernat" ? LatencyView::kBernat : LatencyView::kLegacy);
            if (text != "bernat" && text != "sel4bench-legacy") {
                return option_error(name, text, "bernat or sel4bench-legacy");
            }
        } else if (name == "bucket" && (!parse_whole(text, latency.bucket_width) || latency.bucket_width == 0)) {
            return option_error(name, text, "a whole number above 0");
        } else if (name == "skip" && !parse_whole(text, latency.skipped_tests)) {
            return option_error(name, text, "a whole number");
        } else if (name == "confidence" || name == "error" || name == "settled") {
            const auto fraction = parse_fraction_option(name, text);
            if (!fraction.ok()) {
                return Error{fraction.error()};
            }
            (name == "confidence" ? latency.confidence
             : name == "error"    ? latency.wanted_fraction
                                  : latency.settled_change) = *fraction;
        } else if (name == "percentiles") {
            auto percentiles = parse_percentiles_option(name, text);
            if (!percentiles.ok()) {
                return std::move(percentiles).error();
            }
            latency.percentiles = std::move(*percentiles);
        }
        if (!taken.ok()) {
            return std::move(taken).error();
        }
    }
    if (auto refused = refuse_unused(options, view, latency); !refused.ok()) {
        return std::move(refused).error();
    }
    if (latency.view == LatencyView::kInference && !options.contains("confidence")) {
        latency.confidence = 0.90L;
    }
    return latency;
}

}  // namespace perfleet
