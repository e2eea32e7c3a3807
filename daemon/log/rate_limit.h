// Limits how many messages of one kind are logged: kAtOnceMax at once, then one every kEveryNs. The caller passes the
// time.
//
// One thread at a time. Bounded: kinds above kKindsMax share one limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace perfleet {

class RateLimit {
public:
    static constexpr std::uint64_t kAtOnceMax = 10;
    static constexpr std::uint64_t kEveryNs = 5'000'000'000;
    static constexpr std::size_t kKindsMax = 256;

    struct Verdict {
        bool may_be_written = false;
        std::uint64_t suppressed_before = 0;  // messages of this kind since the last one that was written
    };
    Verdict ask(std::string_view kind, std::uint64_t now_ns);

    // Kinds with suppressed messages that may log one now, with their counts, which are reset.
    [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> take_suppressed(std::uint64_t now_ns);

    // The same for all kinds, even if they may not log a message yet.
    [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> take_all_suppressed();

    // Since the start.
    [[nodiscard]] std::uint64_t suppressed_count() const { return suppressed_count_; }

private:
    struct Kind {
        std::uint64_t may_write = kAtOnceMax;
        std::uint64_t refilled_ns = 0;
        std::uint64_t suppressed = 0;
    };
    static void refill(Kind& kind, std::uint64_t now_ns);

    std::map<std::string, Kind, std::less<>> kinds_;
    std::uint64_t suppressed_count_ = 0;
};

// The kind of a message that names none: its text up to the first digit or quotation mark.
[[nodiscard]] std::string_view kind_of_text(std::string_view text);

}  // namespace perfleet
