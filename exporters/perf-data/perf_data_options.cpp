#include "exporters/perf-data/perf_data_options.h"

namespace perfleet {

const OptionTable<PerfDataOptions>& perf_data_options() {
    static const OptionTable<PerfDataOptions> kTable =
        OptionTable<PerfDataOptions>{}
            .flag("pipe", &PerfDataOptions::is_pipe,
                  "perf.data: as perf writes it to a pipe, for `perf report -i -` (with -o - always)")
            .flag(
                "merge-targets", &PerfDataOptions::merges_targets,
                "perf.data: several targets in one file; pids get a range of each target, commands its name in front");
    return kTable;
}

}  // namespace perfleet
