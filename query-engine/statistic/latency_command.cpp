#include "query-engine/statistic/latency_command.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace perfleet {
namespace {

constexpr std::array<std::string_view, 11> kOptions{"runs", "kbench",     "table", "histogram", "bucket",     "mode",
                                                    "skip", "confidence", "error", "settled",   "percentiles"};
constexpr std::size_t kPercentilesMax = 32;

Error usage(const std::string& name, const std::string& text, const std::string& expected) {
    return Error{ErrorCode::kUsage, "--" + name + ": \"" + text.substr(0, 64) + "\" is not " + expected};
}

template <class Number>
bool parse_whole(const std::string& text, Number& number) {
    const char* end = text.data() + text.size();
    const auto [rest, status] = std::from_chars(text.data(), end, number);
    return status == std::errc{} && rest == end && !text.empty();
}

// A percentage in (0, 100) as a fraction; whole digits, so that 90 is 0.90 and not its neighbour.
bool parse_fraction(const std::string& text, long double& fraction) {
    const auto quantile = parse_percentile(text);
    if (!quantile || quantile->billionths == 0 || quantile->billionths == Quantile::kWhole) {
        return false;
    }
    fraction = quantile->fraction();
    return true;
}

Result<std::vector<Quantile>> parse_percentiles(const std::string& text) {
    std::vector<Quantile> quantiles;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(',', start), text.size());
        const auto quantile = parse_percentile(std::string_view{text}.substr(start, end - start));
        if (!quantile || quantiles.size() == kPercentilesMax) {
            return usage("percentiles", text, "a list of at most 32 numbers from 0 to 100, such as 50,99.9");
        }
        quantiles.push_back(*quantile);
        start = end + 1;
    }
    return quantiles;
}

}  // namespace

bool is_latency_option(std::string_view name) {
    return std::find(kOptions.begin(), kOptions.end(), name) != kOptions.end();
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
        } else if (name == "table") {
            taken = choose(name, LatencyView::kTable);
        } else if (name == "histogram") {
            taken = choose(name, LatencyView::kHistogram);
            latency.is_linear = text != "log2";
            if (text != "linear" && text != "log2" && text != "cumulative") {
                return usage(name, text, "log2, linear or cumulative");
            }
        } else if (name == "mode") {
            taken = choose(name, text == "bernat" ? LatencyView::kBernat : LatencyView::kLegacy);
            if (text != "bernat" && text != "sel4bench-legacy") {
                return usage(name, text, "bernat or sel4bench-legacy");
            }
        } else if (name == "bucket" && (!parse_whole(text, latency.bucket_width) || latency.bucket_width == 0)) {
            return usage(name, text, "a whole number above 0");
        } else if (name == "skip" && !parse_whole(text, latency.skipped_tests)) {
            return usage(name, text, "a whole number");
        } else if (name == "confidence" && !parse_fraction(text, latency.confidence)) {
            return usage(name, text, "a percentage between 0 and 100");
        } else if (name == "error" && !parse_fraction(text, latency.wanted_fraction)) {
            return usage(name, text, "a percentage between 0 and 100");
        } else if (name == "settled" && !parse_fraction(text, latency.settled_change)) {
            return usage(name, text, "a percentage between 0 and 100");
        } else if (name == "percentiles") {
            auto percentiles = parse_percentiles(text);
            if (!percentiles.ok()) {
                return std::move(percentiles).error();
            }
            latency.percentiles = std::move(*percentiles);
        }
        if (!taken.ok()) {
            return std::move(taken).error();
        }
    }
    if (latency.view == LatencyView::kInference && !options.contains("confidence")) {
        latency.confidence = 0.90L;
    }
    return latency;
}

}  // namespace perfleet
