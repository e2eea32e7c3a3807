// A selection: the sessions, the time range and the rows that a query reads: `--select '{label="v", arch=~"aarch.*"}'`,
// `--session`, `--from`, `--until`, and filters of rows.
//
// Plain values; parsing takes untrusted text and answers with errors that name the position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "query-engine/limits/query_limits.h"
#include "query-engine/select/cgroup_path.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "storage/select/matcher.h"

namespace perfleet {

// Filters rows of the selected series. An empty list accepts all; a row must pass every list. Names are globs.
struct RowFilter {
    using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // both ends included
    std::vector<std::string> comms;                                       // names of threads, at the row's time
    Ranges pids;
    Ranges tids;
    Ranges cpus;
    CgroupFilter cgroups{};            // of the row's process, at the row's time
    std::vector<std::string> images;   // of the innermost frame: path, its last part, or as `top` names it
    std::vector<std::string> symbols;  // of the innermost frame, as `top` names it
    // A label of samples of imported profiles of pprof has one of these values: a text, or a number with or without its
    // unit.
    struct Tag {
        std::string key;
        std::vector<std::string> values;
    };
    std::vector<Tag> tags;

    [[nodiscard]] bool has_rows() const {
        return !(comms.empty() && pids.empty() && tids.empty() && cpus.empty() && cgroups.empty() && tags.empty());
    }
    [[nodiscard]] bool has_frames() const { return !(images.empty() && symbols.empty()); }
};

// A part of each session's time, as `perf report --time` counts it.
struct TimeWindow {
    struct Clock {  // ns of the session's clock, as `script` prints it; both included
        std::uint64_t first_ns = 0;
        std::uint64_t last_ns = ~0ULL;

        friend bool operator==(const Clock&, const Clock&) = default;
    };
    struct Share {  // of the time from the first measured row to the last; the end is excluded unless it is the last
        double first = 0;
        double last = 1;

        friend bool operator==(const Share&, const Share&) = default;
    };
    std::variant<Clock, Share> part;

    // The ticks [first, last) of a session whose samples lie in [first_sample, last_sample].
    [[nodiscard]] std::pair<Ticks, Ticks> ticks(std::uint64_t ticks_per_second, Ticks first_sample,
                                                Ticks last_sample) const;
};

// The kind of data that a query shows, which decides the sessions that `last` and `last~1` count.
enum class SessionUse : std::uint8_t {
    kAny,
    kProfile,      // recorded to sample, also without a sample
    kDurations,    // recorded to measure durations
    kTracepoints,  // with tracepoints or probes
    kLikeTheLast,  // of the same use as the newest session
};

inline constexpr std::size_t kFilterSizeBytesMax = 4096;  // of one option's text

struct Selection {
    std::vector<Matcher> matchers;     // all must hold
    std::optional<UtcNs> from;         // included
    std::optional<UtcNs> to;           // excluded
    std::optional<TimeWindow> window;  // excludes `from` and `to`; has the filters below, too
    std::string session;               // names one session (scan/session_choice.h); empty: all
    SessionUse use = SessionUse::kAny;
    std::optional<std::string> event;  // only this event, by name
    bool is_off_cpu = false;           // `event` is the blocked time; runnable time belongs to it
    bool is_anonymous = false;         // names are replaced (storage/dictionary/anonymous_names.h)
    bool counts_rows = false;          // widths are numbers of rows, not amounts
    RowFilter filter{};
    bool reads_large_texts = true;  // of sessions' records: formats of tracepoints and attributes of events
    bool is_exact = false;          // rows are read from blocks, never from summaries
    unsigned thread_count = 0;      // of the scan; 0: one a core. Answers don't depend on it.
    std::size_t memory_size_bytes_max = limits::kQueryMemorySizeBytes;  // for what is read and counted

    // Memory for symbol tables that are cached beside those in use.
    [[nodiscard]] std::size_t symbols_size_bytes_max() const { return memory_size_bytes_max / 4; }
};

// RFC 3339, `now`, or an offset from now: `-15m`, `-2h`, `30s`, `7d`. By this process's time zone: `today`,
// `yesterday`, `10:00`, `10:00:30`.
[[nodiscard]] Result<UtcNs> parse_time(std::string_view text, UtcNs now);

// `START,STOP` in seconds, each of which may be missing, or `10%-20%`, `10%/2` (the second tenth) or `10%` (the first).
[[nodiscard]] Result<TimeWindow> parse_window(std::string_view text);

// RFC 3339 in UTC with nine digits of fraction: what parse_time reads back exactly.
[[nodiscard]] std::string format_time(UtcNs time);

}  // namespace perfleet
