// Options of perf that scripts pass and perfleet lacks. Those that change nothing are ignored, and a note says so;
// others are rejected with what to do instead. --help shows none of them.
#pragma once

#include <functional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace perfleet {

struct PerfOption {
    const char* names;
    bool has_value;
    const char* text;  // what to use instead, or why it is ignored
    bool is_ignored = false;
};

using TakeNote = std::function<void(const std::string& note)>;

// `app` must not have these names yet. Notes come while the options are parsed.
void add_perf_options(CLI::App& app, std::span<const PerfOption> options, const TakeNote& take_note);
void add_perf_record_options(CLI::App& app, const TakeNote& take_note);

}  // namespace perfleet
