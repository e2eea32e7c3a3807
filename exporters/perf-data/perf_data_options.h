// The options of `export --to perf.data`.
#pragma once

#include "daemon/option/option.h"

namespace perfleet {

struct PerfDataOptions {
    bool is_pipe = false;         // the format of `perf record -o -`, written sequentially
    bool merges_targets = false;  // else several targets are an error
};

// The options pipe, merge-targets.
[[nodiscard]] const OptionTable<PerfDataOptions>& perf_data_options();

}  // namespace perfleet
