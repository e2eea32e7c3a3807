#include "target-collector/source/linux/event/event_table.h"

#include <linux/perf_event.h>

#include <array>
#include <cstddef>

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
    NamedEvent{"cgroup-switches", "", perf::kTypeSoftware, PERF_COUNT_SW_CGROUP_SWITCHES, "events", kScheduling},
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

// Parts of cache event names, as in perf, with their values in perf_event_attr.config.
struct CacheWord {
    std::string_view word;
    std::uint8_t value;
};
constexpr std::array kCaches{
    CacheWord{"L1-dcache", 0}, CacheWord{"l1-d", 0},     CacheWord{"l1d", 0},   CacheWord{"L1-data", 0},
    CacheWord{"L1-icache", 1}, CacheWord{"l1-i", 1},     CacheWord{"l1i", 1},   CacheWord{"L1-instruction", 1},
    CacheWord{"LLC", 2},       CacheWord{"L2", 2},       CacheWord{"dTLB", 3},  CacheWord{"d-tlb", 3},
    CacheWord{"Data-TLB", 3},  CacheWord{"iTLB", 4},     CacheWord{"i-tlb", 4}, CacheWord{"Instruction-TLB", 4},
    CacheWord{"branch", 5},    CacheWord{"branches", 5}, CacheWord{"bpu", 5},   CacheWord{"btb", 5},
    CacheWord{"bpc", 5},       CacheWord{"node", 6}};
constexpr std::array kCacheOperations{CacheWord{"load", 0},
                                      CacheWord{"loads", 0},
                                      CacheWord{"read", 0},
                                      CacheWord{"store", 1},
                                      CacheWord{"stores", 1},
                                      CacheWord{"write", 1},
                                      CacheWord{"prefetch", 2},
                                      CacheWord{"prefetches", 2},
                                      CacheWord{"speculative-read", 2},
                                      CacheWord{"speculative-load", 2}};
constexpr std::array kCacheResults{CacheWord{"refs", 0},   CacheWord{"Reference", 0}, CacheWord{"ops", 0},
                                   CacheWord{"access", 0}, CacheWord{"misses", 1},    CacheWord{"miss", 1}};

// Takes the longest of `words` at the start of `rest`, if a '-' or the end follows; takes the '-', too.
std::optional<std::uint8_t> take_word(std::string_view& rest, std::span<const CacheWord> words) {
    const CacheWord* best = nullptr;
    for (const CacheWord& candidate : words) {
        const std::size_t size = candidate.word.size();
        if (rest.starts_with(candidate.word) && (rest.size() == size || rest[size] == '-') &&
            (best == nullptr || size > best->word.size())) {
            best = &candidate;
        }
    }
    if (best == nullptr) {
        return std::nullopt;
    }
    const bool is_last = rest.size() == best->word.size();
    rest.remove_prefix(best->word.size() + (is_last ? 0 : 1));
    if (!is_last && rest.empty()) {
        return std::nullopt;  // ends with a '-'
    }
    return best->value;
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

EventSpec spec_of(const NamedEvent& named) {
    EventSpec spec;
    spec.name = named.name;
    spec.type = named.type;
    spec.config = named.config;
    spec.unit = named.unit;
    spec.is_processor_event = named.type != perf::kTypeSoftware;
    spec.exclude_guest = spec.is_processor_event;
    return spec;
}

std::optional<std::uint64_t> parse_cache_event(std::string_view name) {
    const auto which = take_word(name, kCaches);
    std::optional<std::uint8_t> operation;
    std::optional<std::uint8_t> result;
    while (which && !name.empty()) {
        const bool had_operation = operation.has_value();
        operation = had_operation ? operation : take_word(name, kCacheOperations);
        if (had_operation || !operation) {
            if (result) {
                return std::nullopt;
            }
            result = take_word(name, kCacheResults);
            if (!result) {
                return std::nullopt;
            }
        }
    }
    return which ? std::optional{cache(*which, operation.value_or(0), result.value_or(0))} : std::nullopt;
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

}  // namespace perfleet
