#include "target-collector/intake/pprof/sample_numbers.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace perfleet {
namespace {

constexpr std::string_view kObjects = "objects";
constexpr std::string_view kSpace = "space";

double magnitude(std::int64_t value) { return std::abs(static_cast<double>(value)); }

std::uint64_t rounded(double samples) {
    return static_cast<std::uint64_t>(std::llround(std::clamp(samples, 1.0, 9.0e18)));
}

}  // namespace

SampleNumbers::SampleNumbers(const PprofProfile& profile) : period_{static_cast<double>(profile.period)} {
    const auto type_of = [&](std::string_view name, std::string_view unit) -> std::optional<std::size_t> {
        const auto found = std::ranges::find_if(
            profile.value_types, [&](const auto& type) { return type.type == name && type.unit == unit; });
        return found == profile.value_types.end()
                   ? std::nullopt
                   : std::optional{static_cast<std::size_t>(found - profile.value_types.begin())};
    };
    const bool is_heap = profile.period_type.unit == "bytes";
    const auto of_period =
        profile.period > 0 && !is_heap ? type_of(profile.period_type.type, profile.period_type.unit) : std::nullopt;
    for (const PprofProfile::ValueType& type : profile.value_types) {
        const std::string_view name = type.type;
        const std::string_view kind = name.ends_with(kObjects) ? kObjects : kSpace;
        const std::string prefix{name.substr(0, name.size() - (name.ends_with(kind) ? kind.size() : 0))};
        const auto objects = type_of(prefix + std::string{kObjects}, "count");
        const auto space = type_of(prefix + std::string{kSpace}, "bytes");
        auto count = type_of(std::string{name} + (name.ends_with(":samples") ? "" : ":samples"), "count");
        count = count ? count : type_of("samples", "count");
        Source& source = sources_.emplace_back();
        if (count) {
            source = {Rule::kCount, *count, 0};
        } else if (is_heap && profile.period > 0 && name.ends_with(kind) && objects && space) {
            source = {Rule::kHeap, *objects, *space};
        } else if (of_period) {
            source = {Rule::kPeriod, *of_period, 0};
        }
    }
}

std::uint64_t SampleNumbers::of(const PprofProfile::Sample& sample, std::size_t type) const {
    const Source& source = sources_[type];
    if (source.rule == Rule::kUnknown) {
        return kUnknownSamples;
    }
    if (sample.values[type] == 0) {
        return 0;
    }
    const double count = magnitude(sample.values[source.count]);
    const double size = magnitude(sample.values[source.size]);
    if (count == 0 || (source.rule == Rule::kHeap && size == 0)) {
        return kUnknownSamples;
    }
    switch (source.rule) {
        case Rule::kHeap: return rounded(period_ <= 1 ? count : -count * std::expm1(-size / count / period_));
        case Rule::kPeriod: return rounded(count / period_);
        default: return rounded(count);
    }
}

}  // namespace perfleet
