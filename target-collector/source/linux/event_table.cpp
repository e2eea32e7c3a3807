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

constexpr std::string_view kTime = "time";
constexpr std::string_view kCycles = "cycles";
constexpr std::string_view kExecution = "instruction execution";
constexpr std::string_view kStalls = "pipeline stalls";
constexpr std::string_view kCache = "cache";
constexpr std::string_view kBranches = "branch prediction";
constexpr std::string_view kExceptions = "exceptions";
constexpr std::string_view kScheduling = "scheduling";
constexpr std::string_view kDebug = "debug and trace";
constexpr std::array kCategories{kTime,     kCycles,     kExecution,  kStalls, kCache,
                                 kBranches, kExceptions, kScheduling, kDebug};

constexpr std::array kEvents{
    NamedEvent{"cpu-clock", "", perf::kTypeSoftware, PERF_COUNT_SW_CPU_CLOCK, "ns", kTime},
    NamedEvent{"task-clock", "", perf::kTypeSoftware, PERF_COUNT_SW_TASK_CLOCK, "ns", kTime},
    NamedEvent{"page-faults", "faults", perf::kTypeSoftware, PERF_COUNT_SW_PAGE_FAULTS, "events", kExceptions},
    NamedEvent{"minor-faults", "", perf::kTypeSoftware, PERF_COUNT_SW_PAGE_FAULTS_MIN, "events", kExceptions},
    NamedEvent{"major-faults", "", perf::kTypeSoftware, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "events", kExceptions},
    NamedEvent{"context-switches", "cs", perf::kTypeSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES, "events", kScheduling},
    NamedEvent{"cpu-migrations", "migrations", perf::kTypeSoftware, PERF_COUNT_SW_CPU_MIGRATIONS, "events",
               kScheduling},
    NamedEvent{"alignment-faults", "", perf::kTypeSoftware, PERF_COUNT_SW_ALIGNMENT_FAULTS, "events", kExceptions},
    NamedEvent{"emulation-faults", "", perf::kTypeSoftware, PERF_COUNT_SW_EMULATION_FAULTS, "events", kExceptions},
    NamedEvent{"dummy", "", perf::kTypeSoftware, PERF_COUNT_SW_DUMMY, "events", kDebug},
    NamedEvent{"cycles", "cpu-cycles", perf::kTypeHardware, PERF_COUNT_HW_CPU_CYCLES, "cycles", kCycles},
    NamedEvent{"instructions", "", perf::kTypeHardware, PERF_COUNT_HW_INSTRUCTIONS, "events", kExecution},
    NamedEvent{"cache-references", "", perf::kTypeHardware, PERF_COUNT_HW_CACHE_REFERENCES, "events", kCache},
    NamedEvent{"cache-misses", "", perf::kTypeHardware, PERF_COUNT_HW_CACHE_MISSES, "events", kCache},
    NamedEvent{"branches", "branch-instructions", perf::kTypeHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "events",
               kBranches},
    NamedEvent{"branch-misses", "", perf::kTypeHardware, PERF_COUNT_HW_BRANCH_MISSES, "events", kBranches},
    NamedEvent{"bus-cycles", "", perf::kTypeHardware, PERF_COUNT_HW_BUS_CYCLES, "cycles", kCycles},
    NamedEvent{"ref-cycles", "", perf::kTypeHardware, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles", kCycles},
    NamedEvent{"stalled-cycles-frontend", "idle-cycles-frontend", perf::kTypeHardware,
               PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "cycles", kStalls},
    NamedEvent{"stalled-cycles-backend", "idle-cycles-backend", perf::kTypeHardware,
               PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "cycles", kStalls},
    NamedEvent{"L1-dcache-loads", "", perf::kTypeHwCache, cache(0, 0, 0), "events", kCache},
    NamedEvent{"L1-dcache-load-misses", "", perf::kTypeHwCache, cache(0, 0, 1), "events", kCache},
    NamedEvent{"L1-icache-load-misses", "", perf::kTypeHwCache, cache(1, 0, 1), "events", kCache},
    NamedEvent{"LLC-loads", "", perf::kTypeHwCache, cache(2, 0, 0), "events", kCache},
    NamedEvent{"LLC-load-misses", "", perf::kTypeHwCache, cache(2, 0, 1), "events", kCache},
    NamedEvent{"dTLB-loads", "", perf::kTypeHwCache, cache(3, 0, 0), "events", kCache},
    NamedEvent{"dTLB-load-misses", "", perf::kTypeHwCache, cache(3, 0, 1), "events", kCache},
    NamedEvent{"iTLB-load-misses", "", perf::kTypeHwCache, cache(4, 0, 1), "events", kCache},
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

std::span<const NamedEvent> named_events() { return kEvents; }

std::span<const std::string_view> event_categories() { return kCategories; }

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
