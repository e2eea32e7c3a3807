// A parsed profile in pprof's format (profile.proto, package perftools.profiles). It has everything that the format
// has; indices into vectors replace ids.
//
// Input is untrusted, and bounded by kProfileSizeBytesMax. References to missing entries are errors,
// except 0, which the format uses for "not known".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/pprof/sample_labels.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class PprofProfile {
public:
    static constexpr std::size_t kProfileSizeBytesMax = 256U << 20;

    // Errors: kTooLarge, kCorrupt (names the fault).
    [[nodiscard]] static Result<PprofProfile> read(std::span<const std::byte> file_untrusted);

    struct ValueType {
        std::string_view type;
        std::string_view unit;
    };
    struct Sample {
        std::vector<std::uint32_t> locations;  // indices of locations; innermost first
        std::vector<std::int64_t> values;      // one for each value type
        std::vector<SampleLabel> labels;
    };
    struct Mapping {
        std::uint64_t start = 0;
        std::uint64_t limit = 0;
        std::uint64_t file_offset = 0;
        std::string_view file_name;
        std::string_view build_id;  // usually hexadecimal digits
        std::uint32_t flags = 0;    // bits from 0: has functions, file names, line numbers, inlined frames
    };
    struct Function {
        std::string_view name;
        std::string_view system_name;  // as the linker knows it; may be empty
        std::string_view file_name;
        std::int64_t first_line = 0;  // 0: not known
    };
    static constexpr std::uint32_t kNoFunction = 0xffff'ffff;
    struct Line {
        std::uint32_t function = kNoFunction;  // index of functions
        std::int64_t line = 0;                 // 0: not known
        std::int64_t column = 0;               // likewise
    };
    struct Location {
        std::uint32_t mapping = 0;  // index of mappings; the first stands for none
        std::uint64_t address = 0;
        bool is_folded = false;   // stands for several locations of the same function
        std::vector<Line> lines;  // the function of the first was inlined into that of the next, and so on
    };

    // The profile without its samples, as a message of the same format.
    [[nodiscard]] std::string without_samples() const;

    // The type that pprof shows unless another one is chosen: the one that the profile names, else the last. There must
    // be a type.
    [[nodiscard]] std::size_t default_type() const;

    std::vector<ValueType> value_types;
    std::vector<Sample> samples;
    std::vector<Mapping> mappings{{}};
    std::vector<Location> locations;
    std::vector<Function> functions;
    ValueType period_type;
    std::int64_t period = 0;
    std::string_view default_sample_type;
    std::string_view doc_url;
    std::int64_t time_ns = 0;  // UTC; 0: not known
    std::int64_t duration_ns = 0;
    std::vector<std::string_view> comments;
    std::string_view drop_frames;  // regular expressions for readers that simplify the profile
    std::string_view keep_frames;

private:
    class Reader;

    std::unique_ptr<std::string> text_ = std::make_unique<std::string>();  // holds the names
};

// The type of each event of an imported profile: the default one first, the others in the profile's order.
[[nodiscard]] std::vector<std::size_t> profile_events(const PprofProfile& profile);

// Whether a file begins with a field of a profile. Every profile does; other files may, too.
[[nodiscard]] bool may_be_profile(std::string_view head);

// Whether a file begins as profiles did before they were protobuf: text, or pprof's own binary form for CPU time.
[[nodiscard]] bool is_legacy_profile(std::string_view head);

}  // namespace perfleet
