// Options of perf that scripts pass and perfleet lacks. Those that request the default behaviour are accepted; others
// are rejected with an alternative. --help shows none of them.
#pragma once

#include <span>

namespace CLI {
class App;
}

namespace perfleet {

struct PerfOption {
    const char* names;
    bool has_value;
    const char* instead;  // why it is rejected, and what to use; null: accepted
};

// `app` must not have these names yet.
void add_perf_options(CLI::App& app, std::span<const PerfOption> options);
void add_perf_record_options(CLI::App& app);

}  // namespace perfleet
