// The operator's file of retention classes: which sessions' rows are kept how long, and within how many bytes.
//
//   # class NAME NUMBER  WHICH SESSIONS                              keep HOW LONG [HOW MUCH]
//   class dev    1       {env="dev"}                                 keep 3d
//   class traces 2       {rack=~"r1.*"} with tracepoint,sample       keep 14d 20g
//   class meters 3       only counter,utilisation                    keep 52w
//   class old    4       none                                        keep 8w
//   default                                                          keep 30d 200g
//
// A session's rows are in the first class that matches it, else in `default` (number 0). `with` matches sessions that
// announced an event of one of these kinds, `only` those that announced no others; `none` matches no new session. Ages
// are hours, days or weeks (h, d, w), bytes have k, m, g or t; `keep forever` sets no limit.
//
// A class is for sessions, not rows: a batch holds rows of several kinds under one seal, and an epoch's rows need its
// definitions beside them. The number is stored in keys (Partition::retention_class); the name is only for people.
//
// Plain values; text in, rules out. Errors: kUsage, "PLACE:LINE: what is wrong, and the way out".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/retention/retention_policy.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"
#include "storage/select/matcher.h"

namespace perfleet {

struct RetentionClass {
    static constexpr std::size_t kNameSizeBytesMax = 64;

    enum class Kinds : std::uint8_t { kAny, kWith, kOnly };

    std::string name;
    std::uint8_t number = 0;
    bool takes_in = true;           // false: `none`
    std::vector<Matcher> matchers;  // all must hold
    Kinds kinds_are = Kinds::kAny;
    std::vector<Kind> kinds;
    RetentionPolicy policy;
};

struct RetentionRules {
    static constexpr std::uint8_t kDefaultClass = 0;
    static constexpr std::size_t kClassesMax = 16;  // each writes marks for every dropped hour
    static constexpr std::size_t kFileSizeBytesMax = 64U << 10;

    std::vector<RetentionClass> classes;  // the first match counts
    RetentionPolicy rest;                 // of the default class

    [[nodiscard]] bool keeps_everything() const;

    // The class of a session that isn't stored in the bucket yet (Store::retention_class gives that of a stored one).
    [[nodiscard]] std::uint8_t class_of(const SessionRecord& session) const;
};

[[nodiscard]] Result<RetentionRules> parse_retention_rules(std::string_view text, std::string_view place);

// Errors: also those of reading the file, naming it.
[[nodiscard]] Result<RetentionRules> load_retention_rules(const std::string& file);

}  // namespace perfleet
