// What exact percentiles of many values cost compared with std::sort, in CPU time and memory, and the error
// of the sketch: for distributions that are hard for buckets. Every figure is compared with the sorted values.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "query-engine/statistic/number/description.h"
#include "query-engine/statistic/number/random_stream.h"
#include "schemas/vocabulary/assert.h"
#include "storage/number/rank_sketch.h"

namespace perfleet {
namespace {

using Values = std::vector<std::uint64_t>;

struct Shape {
    const char* name;
    std::uint64_t (*draw)(RandomStream& random);
};

constexpr std::array kShapes{
    Shape{"latencies, 1 % far out",
          [](RandomStream& random) {
              const std::uint64_t usual = 1'000 + random.below(1'000);
              return random.below(100) == 0 ? usual << random.below(20) : usual;
          }},
    Shape{"any 64 bits", [](RandomStream& random) { return random.next(); }},
    Shape{"every power of two alike",
          [](RandomStream& random) -> std::uint64_t { return random.next() >> random.below(64); }},
    Shape{"two modes, 2^40 apart",
          [](RandomStream& random) -> std::uint64_t { return (random.below(2) << 40) + 5'000 + random.below(97); }},
    Shape{"four values", [](RandomStream& random) -> std::uint64_t { return random.below(4); }},
    Shape{"three greatest of 64 bits", [](RandomStream& random) -> std::uint64_t { return ~0ULL - random.below(3); }},
    Shape{"one far out, the rest alike",
          [](RandomStream& random) -> std::uint64_t { return random.below(1'000'000) == 0 ? ~0ULL : 75ULL; }},
};

double cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// "VmRSS" now, "VmHWM" the peak so far, in KiB.
std::uint64_t memory_kib(const std::string& name) {
    std::ifstream status{"/proc/self/status"};
    for (std::string word; status >> word;) {
        if (word == name + ":") {
            std::uint64_t kib = 0;
            status >> kib;
            return kib;
        }
    }
    return 0;
}

void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "percentile_cost: wrong: %s\n", what);
        std::exit(1);
    }
}

// Within a unit (in ranges of 2^62 and more distances are whole ones): at most half of the values are nearer than a
// unit less, and at least half no farther than a unit more.
bool is_median_distance(const Values& sorted, long double centre, long double distance) {
    const auto within = [&](long double reach) {
        const auto low =
            std::lower_bound(sorted.begin(), sorted.end(), centre - reach,
                             [](std::uint64_t a, long double b) { return static_cast<long double>(a) < b; });
        const auto high =
            std::upper_bound(sorted.begin(), sorted.end(), centre + reach,
                             [](long double a, std::uint64_t b) { return a < static_cast<long double>(b); });
        return static_cast<std::size_t>(high - low);
    };
    return within(distance + 1) * 2 >= sorted.size() && (distance < 1 || within(distance - 1) * 2 <= sorted.size() + 1);
}

// The greatest error of the sketch at ten thousand ranks, as a fraction of the true value.
long double sketch_error(const RankSketch& sketch, const Values& sorted) {
    constexpr std::uint64_t kRanks = 10'000;
    long double greatest = 0;
    for (std::uint64_t i = 0; i <= kRanks; ++i) {
        const std::uint64_t rank = (sorted.size() - 1) / kRanks * i;
        const std::uint64_t truth = sorted[rank];
        const std::uint64_t given = sketch.value_at(rank);
        const std::uint64_t error = given > truth ? given - truth : truth - given;
        require(error == 0 || truth != 0, "the sketch gives 0 as 0");
        greatest =
            std::max(greatest, truth == 0 ? 0.0L : static_cast<long double>(error) / static_cast<long double>(truth));
    }
    return greatest;
}

void measure(const Shape& shape, Values& values) {
    RandomStream random{2'026};
    std::generate(values.begin(), values.end(), [&] { return shape.draw(random); });
    // The mark of the peak memory starts anew.
    std::ofstream{"/proc/self/clear_refs"} << "5";
    const std::uint64_t before_kib = memory_kib("VmRSS");
    constexpr std::array kPercentiles{Quantile::of_percent(50), Quantile::of_percent(90), Quantile::of_percent(95),
                                      Quantile::of_percent(99)};
    const double start = cpu_seconds();
    const auto described = describe(pieces_of(values), kPercentiles, 0.95L);
    const double counted = cpu_seconds();
    const std::uint64_t peak_kib = memory_kib("VmHWM");
    require(described.ok(), "the values can be described");
    RankSketch sketch;
    for (const std::uint64_t value : values) {
        sketch.add(value);
    }
    const double sketched = cpu_seconds();
    std::sort(values.begin(), values.end());
    const double sorted = cpu_seconds();
    for (const DescribedPercentile& percentile : described->percentiles) {
        require(percentile.nearest == values[nearest_rank(percentile.quantile, values.size())], "a percentile");
        require(!percentile.ranks || (percentile.low == values[percentile.ranks->low] &&
                                      percentile.high == values[percentile.ranks->high]),
                "a percentile's interval");
    }
    require(described->moments.min() == values.front() && described->moments.max() == values.back(), "an extreme");
    require(is_median_distance(values, described->median, described->deviation), "the median distance");
    const long double error = sketch_error(sketch, values);
    require(error < 1.0L / 128, "the sketch's bound");
    fmt::print("{:28} {:>8.2f} {:>8.2f} {:>6.2f} {:>9.1f} {:>8.2f} {:>9.3f} {:>8}\n", shape.name, counted - start,
               sorted - sketched, (counted - start) / std::max(sorted - sketched, 1e-9),
               static_cast<double>(std::max(peak_kib, before_kib) - before_kib) / 1'024, sketched - counted,
               static_cast<double>(error * 100), sketch.bucket_count());
    std::fflush(stdout);
}

}  // namespace
}  // namespace perfleet

int main(int argument_count, char** arguments) {
    std::uint64_t count = 10'000'000;
    const bool has_count = argument_count == 3 && std::strcmp(arguments[1], "--values") == 0;
    const char* end = has_count ? arguments[2] + std::strlen(arguments[2]) : nullptr;
    if ((argument_count != 1 && !has_count) ||
        (has_count && (std::from_chars(arguments[2], end, count).ptr != end || count == 0))) {
        std::fprintf(stderr, "usage: percentile_cost [--values N]    (default: 10000000; 8 bytes of memory each)\n");
        return 2;
    }
    fmt::print("{} values; CPU seconds of one thread\n{:28} {:>8} {:>8} {:>6} {:>9} {:>8} {:>9} {:>8}\n", count,
               "distribution", "counted", "sorted", "ratio", "MiB more", "sketch", "off by %", "buckets");
    perfleet::Values values(count);
    for (const perfleet::Shape& shape : perfleet::kShapes) {
        perfleet::measure(shape, values);
    }
    return 0;
}
