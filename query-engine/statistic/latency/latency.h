// `latency`: statistics of measured latencies with intervals and validity warnings: of single values (tracepoints that
// carry one) and of accumulated latencies by group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/number/bernat.h"
#include "query-engine/statistic/number/quantile.h"

namespace perfleet {

enum class LatencyView : std::uint8_t {
    kSummary,    // a row a series or group: moments, percentiles, intervals
    kInference,  // a row a group of accumulated latencies: estimates of the primary latency (Kanata Bench)
    kTable,      // the S × G table itself: a row a test, a column a group; of one series
    kBernat,     // figures by the rules of Bernat's kernel module
    kLegacy,     // figures by the rules of sel4bench before 2026
    kHistogram,  // a row a bucket; of one series
    kHeatMap,    // a row a part of time and a step of values (heat_map.h); of one series
    kSketch,     // as kSummary, percentiles from sketches (latency_sketch.h)
    kBootstrap,  // a row a series or group: figures with intervals by the bootstrap (latency_bootstrap.h)
    kRuns,       // a row an event: how figures vary from run to run (latency_runs.h)
};

enum class BootstrapKind : std::uint8_t { kMean, kDeviation, kVariation, kMiddle, kAbsoluteDeviation, kPercentile };

struct BootstrapFigure {
    std::string name;  // of its column
    BootstrapKind kind = BootstrapKind::kMean;
    Quantile quantile;
};

struct LatencyOptions {
    LatencyView view = LatencyView::kSummary;
    std::string view_option;          // the option that chose the view: "histogram log2"; empty: none
    std::vector<std::string> pair;    // start and stop events, whose distances are the values; empty: measured values
    std::uint64_t skipped_tests = 0;  // number of first tests of each group, or first values of a series, to leave out
    long double confidence = 0.95L;   // of intervals; Kanata Bench uses 0.90
    long double wanted_fraction = 0.02L;    // wanted half-width of the mean's interval, as a fraction of the mean
    long double converged_change = 0.005L;  // greatest relative change between groups if the mean has converged
    std::vector<Quantile> percentiles = {Quantile::of_percent(90), Quantile::of_percent(95), Quantile::of_percent(99)};
    std::vector<BootstrapFigure> bootstrap;  // figures of the bootstrap view
    bool shows_checklist = false;            // a warning names the labels that the run doesn't have
    BernatRule bernat_rule = BernatRule::kPrinted;
    bool is_linear = false;          // histogram: equal steps (linear, cumulative) instead of powers of two
    std::uint64_t bucket_width = 0;  // of equal steps and of a heat map's steps; 0: automatic
    std::uint64_t bar_width = 0;     // of a histogram as text, for which the answer is the same; 0: its default
};

// Series without values are left out. Errors: kUsage when a view of one series is requested for several.
[[nodiscard]] Result<Answer> make_latency(const Scan& scan, const LatencyOptions& options);

}  // namespace perfleet
