// What queries really take, as operator new sees it, beside what they may.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "query-engine/statistic/testing/profile_scenario.h"
#include "query-engine/statistic/top.h"
#include "query-engine/symbol/symbolizer.h"

namespace {

std::atomic<std::size_t> allocated_bytes{0};
std::atomic<std::size_t> peak_bytes{0};

void note_allocated(void* memory) {
    const std::size_t now = allocated_bytes += malloc_usable_size(memory);
    for (std::size_t peak = peak_bytes; now > peak && !peak_bytes.compare_exchange_weak(peak, now);) {
    }
}

}  // namespace

void* operator new(std::size_t size) {
    void* const memory = std::malloc(size);
    if (memory == nullptr) {
        throw std::bad_alloc{};
    }
    note_allocated(memory);
    return memory;
}
void operator delete(void* memory) noexcept {
    allocated_bytes -= malloc_usable_size(memory);
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace perfleet {
namespace {

constexpr std::size_t kThreads = 12'000;
constexpr std::size_t kFrames = 12;
constexpr std::size_t kFunctions = 500;

// Threads without names: each is a row of its own for each of its functions.
ProfileScenario scenario_of_threads() {
    ProfileScenario scenario = make_scenario(1);
    scenario.sessions.resize(1);
    ScenarioSession& session = scenario.sessions.front();
    session.epochs.resize(1);
    session.epochs.front().tasks.clear();
    session.epochs.front().samples.clear();
    session.epochs.front().readings.clear();
    session.kernel_lost = 0;
    for (std::size_t i = 0; i < kThreads; ++i) {
        ScenarioSample sample;
        sample.ticks = 1'000 + i;
        sample.pid = static_cast<std::uint32_t>(100 + i);
        sample.tid = sample.pid;
        for (std::size_t frame = 0; frame < kFrames; ++frame) {
            sample.frames.push_back({0, 16 * ((i + frame * frame) % kFunctions)});
        }
        session.epochs.front().samples.push_back(std::move(sample));
    }
    return scenario;
}

TEST(QueryMemoryLimit, ThreadsWithoutNamesStayWithinIt) {
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(scenario_of_threads(), {.rows_per_batch = 4'000}, *store);
    // Blocks that are read, and what stands beside everything that grows.
    constexpr std::size_t kOnTopBytes = 6U << 20;
    for (const bool by_thread : {false, true}) {
        bool has_answered = false;
        bool was_refused = false;
        for (const std::size_t limit_bytes : {4U << 20, 8U << 20, 32U << 20, 256U << 20}) {
            Selection selection;
            selection.thread_count = 2;
            selection.memory_size_bytes_max = limit_bytes;
            const std::size_t before_bytes = allocated_bytes;
            peak_bytes = before_bytes;
            {
                const Result<Scan> scan = Scan::open(*store, selection);
                ASSERT_TRUE(scan.ok());
                Symbolizer symbolizer{nullptr, {}};
                TopOptions options;
                options.by_thread = by_thread;
                options.each_address = true;
                const Result<Answer> answer = make_top(*scan, symbolizer, options);
                has_answered = answer.ok();
                if (answer.ok()) {
                    EXPECT_GT(answer->rows.size(), kThreads);
                } else {
                    was_refused = true;
                    EXPECT_EQ(answer.error().code, ErrorCode::kTooLarge);
                    EXPECT_NE(answer.error().message.find("--memory"), std::string::npos) << answer.error().message;
                }
            }
            const std::size_t taken_bytes = peak_bytes - before_bytes;
            EXPECT_LE(taken_bytes, limit_bytes + kOnTopBytes) << "of " << limit_bytes;
        }
        EXPECT_TRUE(was_refused);
        EXPECT_TRUE(has_answered) << "with the largest limit";
    }
}

}  // namespace
}  // namespace perfleet
