// A profile in pprof's format (profile.proto, package perftools.profiles), as parsed.
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
#include <unordered_map>
#include <vector>

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
    struct Label {
        std::string_view key;
        std::string_view text;  // empty: the value is `number`
        std::string_view unit;  // of the number
        std::int64_t number = 0;
    };
    struct Sample {
        std::vector<std::uint32_t> locations;  // indices of locations; innermost first
        std::vector<std::int64_t> values;      // one of each value type
        std::vector<Label> labels;
    };
    struct Mapping {
        std::uint64_t start = 0;
        std::uint64_t limit = 0;
        std::uint64_t file_offset = 0;
        std::string_view file_name;
        std::string_view build_id;  // usually hexadecimal digits
        std::uint32_t flags = 0;    // flags of KeptSources
    };
    struct Function {
        std::string_view name;
        std::string_view file_name;
        std::int64_t first_line = 0;  // 0: not known
    };
    struct Line {
        std::uint32_t function = 0;  // index of functions
        std::int64_t line = 0;       // 0: not known
        std::int64_t column = 0;     // likewise
    };
    struct Location {
        std::uint32_t mapping = 0;  // index of mappings; the first stands for none
        std::uint64_t address = 0;
        std::vector<Line> lines;  // the function of the first was inlined into that of the next, and so on
    };

    std::vector<ValueType> value_types;
    std::vector<Sample> samples;
    std::vector<Mapping> mappings{{}};
    std::vector<Location> locations;
    std::vector<Function> functions;
    ValueType period_type;
    std::int64_t period = 0;
    std::int64_t time_ns = 0;  // UTC; 0: not known
    std::int64_t duration_ns = 0;
    std::vector<std::string_view> comments;
    std::string_view drop_frames;  // regular expressions for readers that simplify the profile
    std::string_view keep_frames;

private:
    class Reader;

    std::unique_ptr<std::string> text_ = std::make_unique<std::string>();  // holds the names
};

// Whether a file begins with a field that profiles have, as all of them do. Other files may, too.
[[nodiscard]] bool may_be_profile(std::string_view head);

// Whether a file begins as profiles did before they were protobuf: text, or pprof's own binary form for CPU time.
[[nodiscard]] bool is_legacy_profile(std::string_view head);

}  // namespace perfleet
