// Options of perf that scripts pass and perfleet doesn't have. Those that ask for what is done anyway are accepted; the
// others are refused with what to use instead. --help shows none of them.
#pragma once

#include <span>

namespace CLI {
class App;
}

namespace perfleet {

struct PerfOption {
    const char* names;
    bool has_value;
    const char* instead;  // why it is refused, and what to use; null: it asks for what is done anyway
};

// `app` has none of these names yet.
void add_perf_options(CLI::App& app, std::span<const PerfOption> options);
void add_perf_record_options(CLI::App& app);

}  // namespace perfleet
