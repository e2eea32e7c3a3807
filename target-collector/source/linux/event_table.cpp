#include "target-collector/source/linux/event_table.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "schemas/perf/perf_event.h"

namespace perfleet {
namespace {

constexpr std::uint64_t cache(std::uint64_t which, std::uint64_t op, std::uint64_t result) {
    return which | (op << 8U) | (result << 16U);
}

constexpr std::array kEvents{
    NamedEvent{"cpu-clock", "", perf::kTypeSoftware, PERF_COUNT_SW_CPU_CLOCK, "ns"},
    NamedEvent{"task-clock", "", perf::kTypeSoftware, PERF_COUNT_SW_TASK_CLOCK, "ns"},
    NamedEvent{"page-faults", "faults", perf::kTypeSoftware, PERF_COUNT_SW_PAGE_FAULTS, "events"},
    NamedEvent{"minor-faults", "", perf::kTypeSoftware, PERF_COUNT_SW_PAGE_FAULTS_MIN, "events"},
    NamedEvent{"major-faults", "", perf::kTypeSoftware, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "events"},
    NamedEvent{"context-switches", "cs", perf::kTypeSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES, "events"},
    NamedEvent{"cpu-migrations", "migrations", perf::kTypeSoftware, PERF_COUNT_SW_CPU_MIGRATIONS, "events"},
    NamedEvent{"alignment-faults", "", perf::kTypeSoftware, PERF_COUNT_SW_ALIGNMENT_FAULTS, "events"},
    NamedEvent{"emulation-faults", "", perf::kTypeSoftware, PERF_COUNT_SW_EMULATION_FAULTS, "events"},
    NamedEvent{"dummy", "", perf::kTypeSoftware, PERF_COUNT_SW_DUMMY, "events"},
    NamedEvent{"cycles", "cpu-cycles", perf::kTypeHardware, PERF_COUNT_HW_CPU_CYCLES, "cycles"},
    NamedEvent{"instructions", "", perf::kTypeHardware, PERF_COUNT_HW_INSTRUCTIONS, "events"},
    NamedEvent{"cache-references", "", perf::kTypeHardware, PERF_COUNT_HW_CACHE_REFERENCES, "events"},
    NamedEvent{"cache-misses", "", perf::kTypeHardware, PERF_COUNT_HW_CACHE_MISSES, "events"},
    NamedEvent{"branches", "branch-instructions", perf::kTypeHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "events"},
    NamedEvent{"branch-misses", "", perf::kTypeHardware, PERF_COUNT_HW_BRANCH_MISSES, "events"},
    NamedEvent{"bus-cycles", "", perf::kTypeHardware, PERF_COUNT_HW_BUS_CYCLES, "cycles"},
    NamedEvent{"ref-cycles", "", perf::kTypeHardware, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles"},
    NamedEvent{"stalled-cycles-frontend", "idle-cycles-frontend", perf::kTypeHardware,
               PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "cycles"},
    NamedEvent{"stalled-cycles-backend", "idle-cycles-backend", perf::kTypeHardware,
               PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "cycles"},
    NamedEvent{"L1-dcache-loads", "", perf::kTypeHwCache, cache(0, 0, 0), "events"},
    NamedEvent{"L1-dcache-load-misses", "", perf::kTypeHwCache, cache(0, 0, 1), "events"},
    NamedEvent{"L1-icache-load-misses", "", perf::kTypeHwCache, cache(1, 0, 1), "events"},
    NamedEvent{"LLC-loads", "", perf::kTypeHwCache, cache(2, 0, 0), "events"},
    NamedEvent{"LLC-load-misses", "", perf::kTypeHwCache, cache(2, 0, 1), "events"},
    NamedEvent{"dTLB-loads", "", perf::kTypeHwCache, cache(3, 0, 0), "events"},
    NamedEvent{"dTLB-load-misses", "", perf::kTypeHwCache, cache(3, 0, 1), "events"},
    NamedEvent{"iTLB-load-misses", "", perf::kTypeHwCache, cache(4, 0, 1), "events"},
};

constexpr std::size_t kNearNamesMax = 3;

// Levenshtein's distance, in one row of its matrix.
std::size_t edit_distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t substituted = diagonal + (from[i - 1] == to[j - 1] ? 0U : 1U);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
        }
    }
    return row[to.size()];
}

}  // namespace

const NamedEvent* find_named_event(std::string_view name) {
    for (const NamedEvent& event : kEvents) {
        if (event.name == name || (!event.alias.empty() && event.alias == name)) {
            return &event;
        }
    }
    return nullptr;
}

std::vector<std::string> event_names() {
    std::vector<std::string> names;
    for (const NamedEvent& event : kEvents) {
        for (const std::string_view name : {event.name, event.alias}) {
            if (!name.empty()) {
                names.emplace_back(name);
            }
        }
    }
    return names;
}

std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& candidates) {
    constexpr std::size_t kNameSizeMax = 64;
    constexpr std::size_t kPartSizeMin = 3;
    if (name.empty() || name.size() > kNameSizeMax) {
        return {};
    }
    std::vector<std::pair<std::size_t, std::string_view>> found;
    for (const std::string_view candidate : candidates) {
        const bool is_part = name.size() >= kPartSizeMin && candidate.find(name) != std::string_view::npos;
        const std::size_t distance = is_part ? 1 : edit_distance(name, candidate);
        if (distance <= std::max(name.size(), candidate.size()) / 3) {
            found.emplace_back(distance, candidate);
        }
    }
    std::sort(found.begin(), found.end());
    found.resize(std::min(found.size(), kNearNamesMax));
    std::vector<std::string> names;
    for (const auto& [distance, candidate] : found) {
        names.emplace_back(candidate);
    }
    return names;
}

}  // namespace perfleet
