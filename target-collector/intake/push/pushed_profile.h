// A profile that a client pushes, whatever its format: samples of one target and process, with times where the format
// has them. Readers of formats (otlp_profiles.h, pyroscope_profiles.h) make it, profile_rows.h makes rows of it.
//
// Plain values. Texts and stacks are borrowed from `tables` and `keep`, which the profile shares with others of its
// request.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/pprof/pprof_profile.h"

namespace perfleet {

namespace push_limits {
inline constexpr std::size_t kRowsMax = 1'000'000;       // of one request
inline constexpr std::size_t kTypesMax = 16;             // of values, of one profile
inline constexpr std::size_t kTextSizeBytesMax = 1'000;  // names of functions and files are cut
inline constexpr std::size_t kProfilesMax = 4'096;       // of one request
inline constexpr std::size_t kLabelsMax = 24;            // of a session; some of limits::kLabelsMax are perfleet's own
}  // namespace push_limits

struct PushedType {
    std::string name;  // the event's
    std::string unit;  // "ns", "count", "bytes", …

    friend bool operator==(const PushedType&, const PushedType&) = default;
    friend auto operator<=>(const PushedType&, const PushedType&) = default;
};

struct PushedSample {
    std::span<const std::uint32_t> locations;  // indices of tables->locations; innermost first
    std::int64_t time_ns = 0;                  // UTC
    std::vector<std::int64_t> values;          // one of each type
    std::vector<SampleLabel> labels;
    std::uint32_t cpu = 0;
    std::uint32_t pid = 0;         // 0: the profile's
    std::uint32_t tid = 0;         // 0: not known
    std::string_view thread_name;  // empty: not known
};

struct PushedProfile {
    std::string target;
    std::string producer;                       // the program that made it, as it names itself; may be empty
    std::map<std::string, std::string> labels;  // of the session: service_name and others
    std::uint32_t pid = 0;                      // 0: not known
    std::string command;                        // name of threads without one
    std::vector<PushedType> types;              // the first is the default
    std::vector<PushedSample> samples;
    std::int64_t first_ns = 0;  // the samples' time, [first_ns, last_ns]
    std::int64_t last_ns = 0;

    std::shared_ptr<const PprofProfile> tables;  // mappings, locations and functions
    std::shared_ptr<const void> keep;            // whatever else is borrowed
};

// The profiles of a request that could be read.
struct PushedRequest {
    std::vector<PushedProfile> profiles;
    std::uint64_t rejected_count = 0;  // of profiles
    std::string rejected_why;          // of the first of them
};

// A key as labels have it: other characters than letters, digits and `_` become `_`.
[[nodiscard]] std::string label_key(std::string_view key_untrusted);

}  // namespace perfleet
