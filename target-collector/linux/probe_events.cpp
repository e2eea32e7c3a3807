#include "target-collector/linux/probe_events.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "schemas/perf/perf_event.h"
#include "schemas/vocabulary/probe_overhead.h"
#include "target-collector/linux/command.h"
#include "target-collector/probe/perfleet/bench.h"
#include "target-collector/source/linux/event/probe_name.h"

namespace perfleet {

void describe_probes(std::vector<EventSpec>& probes) {
    constexpr unsigned kPairs = 1'000;
    perfleet_trace_overhead overhead{};
    if (::perfleet_trace_measure_overhead(kPairs, &overhead) != 0) {
        return;
    }
    for (EventSpec& spec : probes) {
        spec.format = spec.is_probe_value ? "" : format_probe_overhead({overhead.effective_ns, overhead.total_ns});
    }
}

std::vector<ProbeName> names_in_command(const std::vector<std::string>& command, ImageReader& reader) {
    constexpr std::size_t kProgramsMax = 64;
    std::vector<std::string> words;
    for (const std::string& word : command) {
        words.push_back(word);
        std::string part;
        for (const char c : word + " ") {
            if (std::string_view{" \t\n;&|()<>'\"`="}.find(c) == std::string_view::npos) {
                part += c;
            } else if (!part.empty()) {
                words.push_back(std::exchange(part, ""));
            }
        }
    }
    words.resize(std::min(words.size(), kProgramsMax));
    std::vector<ProbeName> names;
    for (const std::string& word : words) {
        const auto program = find_command(word);
        if (program.ok()) {
            add_probe_names(names, probe_names_of_file(*program, reader));
        }
    }
    return names;
}

EventSpec benchmark_event(const CollectorOptions::Benchmark& benchmark) {
    EventSpec spec;
    spec.name = benchmark.name;
    spec.type = perf::kTypeSoftware;
    spec.config = perf::kConfigDummy;
    spec.unit = "ns";
    spec.format = benchmark.overhead;
    spec.is_probe = true;
    spec.is_accumulated = benchmark.is_circle;
    spec.probe_name = std::to_string(PERFLEET_BENCH_ID);
    spec.is_nowhere = true;
    return spec;
}

}  // namespace perfleet
