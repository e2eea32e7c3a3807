// How many samples of the profiler the values of a profile of pprof stand for.
//
//   a type `samples/count`, or `NAME:samples` of NAME     its value
//   `space/bytes` with `objects/count`, also of one       objects × (1 − e^(−size of one ÷ period)): profilers of heaps
//   prefix (`inuse_space`), if the period is of bytes     write estimates, divided by that probability of a sample
//   the type of the profile's period                      value ÷ period, of all types of the sample
//
// The first of these that there is counts. Elsewhere the number isn't known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schemas/pprof/pprof_profile.h"

namespace perfleet {

class SampleNumbers {
public:
    explicit SampleNumbers(const PprofProfile& profile);

    // Of the type's value: kUnknownSamples, 0 of a value of 0, else at least 1.
    [[nodiscard]] std::uint64_t of(const PprofProfile::Sample& sample, std::size_t type) const;

private:
    enum class Rule : std::uint8_t { kUnknown, kCount, kHeap, kPeriod };
    struct Source {
        Rule rule = Rule::kUnknown;
        std::size_t count = 0;  // type that has the number of samples or objects, or that of the period
        std::size_t size = 0;   // type that has the objects' size
    };

    std::vector<Source> sources_;  // by type
    double period_ = 0;
};

}  // namespace perfleet
