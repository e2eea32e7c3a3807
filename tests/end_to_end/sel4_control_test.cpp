// Requests that an operator sends to a collector on seL4: `perfleet control` through a real gateway to the collector's
// own run, here on a simulated kernel and machine whose time is the host's.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/session/session_changes.h"
#include "target-collector/sel4/run/collector_run.h"
#include "target-collector/source/sel4/testing/simulated_kernel.h"
#include "target-collector/wire/testing/socket_stream.h"
#include "target-collector/wire/zmtp_driver.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/simulated_machine.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::sel4_control_test {
namespace {

using namespace sel4;

constexpr std::uint64_t kCyclesPerSecond = SimulatedMachine::kCyclesPerSecond;
constexpr std::uint32_t kThreads = 2;
constexpr std::string_view kThreadNames[kThreads] = {"root", "busy"};
constexpr std::uint32_t kBusy = 2;
constexpr std::uint64_t kCode = 0x40'0000;
constexpr std::uint64_t kCodeSizeBytes = 0x1000;

struct Answer {
    std::string outcome;
    std::string reason;
};

class Sel4Control : public testing::Test {
protected:
    // The root task's run on `kernel`, from its first row to its Bye; `requests` gives it requests meanwhile.
    void run_root(SimulatedKernel& kernel, const std::function<void()>& requests) {
        kernel.registers[kBusy] = {kCode + 0x100, 0, false};
        GatewayProgram gateway{data_};
        SimulatedMachine simulated{kernel, kThreads, {kBusy}};
        machine_ = &simulated;
        const Machine machine{simulated, &simulated, simulated, &simulated};
        const RunEvents events{kernel.features(), kCyclesPerSecond / 1'000, simulated};
        TickTimer timer{simulated, 1};
        RunRequests taker{
            {.event_count = events.descriptions().size(), .cycles_per_second = kCyclesPerSecond}, timer, &simulated};
        const SmallImage image{.path = "/root.elf", .address = kCode, .size_bytes = kCodeSizeBytes};
        const SmallThread named[] = {{1, kThreadNames[0]}, {2, kThreadNames[1]}};
        const SmallTarget target{
            .target = TargetId{0x5e14},
            .name = "board",
            .architecture = "aarch64",
            .session = {7, 8},
            .clock = {.name = "pmccntr", .ticks_per_second = kCyclesPerSecond, .linux_clockid = -1},
            .start_point = {kernel.now(), UtcNs{1'700'000'000 * kNsPerSecond}, 0},
            .events = events.descriptions(),
            .images = {&image, 1},
            .threads = named,
            .taker = &taker};
        SocketStream socket{gateway.listen()};
        ZmtpDriver driver{socket};
        const auto collector = std::make_unique<SmallCollector>(target, driver);
        const SampledThread sampled[] = {{ThreadNumber{kBusy}}};
        const auto run = std::make_unique<CollectorRun>(CollectorRun::Parts{.kernel = kernel,
                                                                            .collector = *collector,
                                                                            .events = events,
                                                                            .machine = machine,
                                                                            .timer = timer,
                                                                            .requests = taker,
                                                                            .cycles_per_second = kCyclesPerSecond,
                                                                            .thread_count = kThreads,
                                                                            .sampled = sampled});
        run_ = run.get();
        run->begin();
        requests();
        run->end_ticks();
        run->finish();
        counts_ = run->counts();
        uncovered_ticks_ = timer.coverage().uncovered;
        run_ = nullptr;
        machine_ = nullptr;
        EXPECT_TRUE(collector->status().finished);
        EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    }

    void turn_until(const std::function<bool()>& is_so) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (!is_so()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
            run_->turn(machine_->wait());
        }
    }
    // While the run continues.
    Answer control(std::vector<std::string> words) {
        words.insert(words.begin(), {program_path("perfleet"), "control", "--data", data_, "--target", "board",
                                     "--format", "json", "--wait", "60"});
        auto program = std::async(std::launch::async, [&] { return run(words); });
        turn_until([&] { return program.wait_for(std::chrono::seconds{0}) == std::future_status::ready; });
        const Finished finished = program.get();
        const auto rows =
            finished.output.empty() ? std::vector<nlohmann::json>{} : rows_of(nlohmann::json::parse(finished.output));
        if (rows.size() != 1) {
            return {"no answer", finished.error_output};
        }
        return {rows[0].at("outcome"), rows[0].at("reason")};
    }
    void expect_applied(const std::vector<std::string>& words) {
        const Answer answer = control(words);
        EXPECT_EQ(answer.outcome, "applied") << answer.reason;
    }
    // Until it has sent so many samples more, or ran so many cycles.
    void sample_on(std::uint64_t count) {
        const std::uint64_t before = run_->counts().samples;
        turn_until([&] { return run_->counts().samples >= before + count; });
    }
    void go_on_for(std::uint64_t cycles) {
        const std::uint64_t before = run_->counts().cycles;
        turn_until([&] { return run_->counts().cycles >= before + cycles; });
    }

    // What is stored of the one session, whose ledger has to be exact. Nothing is lost but the entries that a kernel
    // logged of the last reads of its log.
    void read_stored() {
        const auto ledgers = ledgers_of(data_);
        ASSERT_EQ(ledgers.size(), 1U);
        ledgers.front().expect_exact();
        auto lost = ledgers.front().lost;
        unflushed_ = std::exchange(lost[CountName::kLostUnflushed], 0);
        EXPECT_EQ(std::erase_if(lost, [](const auto& entry) { return entry.second == 0; }), 1U);
        EXPECT_TRUE(lost.empty());
        for (const auto& [series, counts] : ledgers.front().series) {
            stored_[series] = counts.stored;
        }
    }
    // Times of a series' rows.
    [[nodiscard]] std::vector<std::uint64_t> times(Series series) const {
        std::vector<std::uint64_t> found;
        const auto store = open_store_reader(data_);
        const auto scan = Scan::open(**store, {});
        RowCursor rows{*scan, 0, series, {}};
        while (const RowBlock* const block = rows.next()) {
            const auto column = block->rows.integers(ColumnId::kTime);
            found.insert(found.end(), column.begin(), column.end());
        }
        EXPECT_TRUE(rows.status().ok());
        return found;
    }
    // When a request took effect, by its place among all.
    [[nodiscard]] std::vector<std::uint64_t> order_times() const {
        std::vector<std::uint64_t> found;
        const auto store = open_store_reader(data_);
        const auto scan = Scan::open(**store, {});
        const auto changes = read_changes(*scan, 0);
        EXPECT_TRUE(changes.ok());
        for (const auto& change : *changes) {
            found.push_back(change.time.value);
        }
        return found;
    }
    static std::ptrdiff_t count_between(const std::vector<std::uint64_t>& times, std::uint64_t from, std::uint64_t to) {
        return std::count_if(times.begin(), times.end(), [&](std::uint64_t time) { return time > from && time < to; });
    }

    const TemporaryFolder folder_;
    const std::string data_ = folder_ / "data";
    CollectorRun* run_ = nullptr;
    SimulatedMachine* machine_ = nullptr;
    CollectorRun::Counts counts_;
    std::uint64_t uncovered_ticks_ = 0;  // of the alarm
    std::map<Series, std::uint64_t> stored_;
    std::uint64_t unflushed_ = 0;
};

constexpr Series kTimerSamples{Kind::kSample, RunEvents::kSamples};
constexpr Series kCycleSamples{Kind::kSample, RunEvents::kCycleSamples};
constexpr Series kUtilisationRows{Kind::kUtilisation, EventNumber{RunEvents::kFirstCounter}};
constexpr Series kEntryRows{Kind::kKernelEntry, EventNumber{RunEvents::kFirstCounter}};

TEST_F(Sel4Control, StopsAndStartsAllOfItAndEachEvent) {
    SimulatedKernel kernel{{.mode = BenchmarkMode::kUtilisation, .architecture_name = "aarch64"}};
    std::uint64_t samples_while_stopped = 0;
    run_root(kernel, [&] {
        sample_on(100);
        expect_applied({"stop"});
        EXPECT_FALSE(machine_->has_cycle_interrupts());
        samples_while_stopped = run_->counts().samples;
        go_on_for(2 * kCyclesPerSecond);
        EXPECT_EQ(run_->counts().samples, samples_while_stopped);
        expect_applied({"start"});
        EXPECT_TRUE(machine_->has_cycle_interrupts());
        sample_on(100);
        // One alone: the other continues.
        expect_applied({"stop", "--event", "timer"});
        const std::uint64_t before = run_->counts().samples;
        go_on_for(kCyclesPerSecond);
        EXPECT_GT(run_->counts().samples, before) << "those by cycles";
        expect_applied({"start", "--event", "timer"});
        sample_on(100);
        go_on_for(2 * kCyclesPerSecond);
    });
    read_stored();
    EXPECT_EQ(stored_[kTimerSamples] + stored_[kCycleSamples], counts_.samples);
    const auto requests = order_times();
    ASSERT_EQ(requests.size(), 4U);
    const auto timer = times(kTimerSamples);
    const auto by_cycles = times(kCycleSamples);
    EXPECT_EQ(count_between(timer, requests[0], requests[1]), 0);
    EXPECT_EQ(count_between(by_cycles, requests[0], requests[1]), 0);
    EXPECT_EQ(count_between(timer, requests[2], requests[3]), 0);
    EXPECT_GT(count_between(by_cycles, requests[2], requests[3]), 0);
    EXPECT_GT(count_between(timer, 0, requests[0]), 0);
    EXPECT_GT(count_between(timer, requests[1], requests[2]), 0);
    EXPECT_GT(count_between(timer, requests[3], ~0ULL), 0);
    const auto windows = times(kUtilisationRows);
    EXPECT_EQ(count_between(windows, requests[0], requests[1]), 0);
    EXPECT_GT(count_between(windows, requests[1], ~0ULL), 0);
}

TEST_F(Sel4Control, AStoppedThreadsTimeIsInNoSample) {
    SimulatedKernel kernel{{.mode = BenchmarkMode::kUtilisation, .architecture_name = "aarch64"}};
    run_root(kernel, [&] {
        sample_on(50);
        expect_applied({"stop"});
        go_on_for(3 * kCyclesPerSecond);
        expect_applied({"start", "--event", "timer"});
        sample_on(50);
    });
    read_stored();
    const auto requests = order_times();
    ASSERT_EQ(requests.size(), 2U);
    // The cycles of the busy thread before it was stopped and afterwards are all that its samples weigh.
    const auto store = open_store_reader(data_);
    const auto scan = Scan::open(**store, {});
    std::uint64_t weight_after = 0;
    std::uint64_t last = 0;
    RowCursor rows{*scan, 0, kTimerSamples, {}};
    while (const RowBlock* const block = rows.next()) {
        const auto row_times = block->rows.integers(ColumnId::kTime);
        const auto weights = block->rows.integers(ColumnId::kWeight);
        for (std::size_t i = 0; i < row_times.size(); ++i) {
            last = std::max(last, row_times[i]);
            weight_after += row_times[i] > requests[1] ? weights[i] : 0;
        }
    }
    EXPECT_TRUE(rows.status().ok());
    EXPECT_GT(weight_after, 0U);
    EXPECT_LE(weight_after, last - requests[1]);
}

TEST_F(Sel4Control, TimeOfSkippedPeriodsIsARowAndAWarning) {
    SimulatedKernel kernel{{.mode = BenchmarkMode::kUtilisation, .architecture_name = "aarch64"}};
    run_root(kernel, [&] {
        sample_on(20);
        std::this_thread::sleep_for(std::chrono::milliseconds{300});  // no ticks are taken
        sample_on(20);
    });
    read_stored();
    constexpr std::uint64_t kCyclesPerTick = SimulatedMachine::kCyclesPerTick;
    EXPECT_GT(uncovered_ticks_ * kCyclesPerTick, kCyclesPerSecond / 4);
    const auto rows = rows_of(perfleet_json({"counters", "--data", data_, "--event", "uncovered time"}));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].at("value"), uncovered_ticks_ * kCyclesPerTick);

    const auto losses = rows_of(perfleet_json({"losses", "--data", data_}));
    const auto uncovered =
        std::find_if(losses.begin(), losses.end(), [](const auto& row) { return row.at("event") == "uncovered time"; });
    ASSERT_NE(uncovered, losses.end());
    EXPECT_GT(uncovered->at("uncovered_percent"), 0);
    EXPECT_LT(uncovered->at("uncovered_percent"), 100);

    const std::string file = folder_ / "perf.data";
    for (const auto& answer :
         {perfleet_json({"top", "--data", data_, "--event", "timer"}), perfleet_json({"losses", "--data", data_}),
          perfleet_json({"tree", "--data", data_, "--event", "timer"})}) {
        EXPECT_NE(answer.at("warnings").dump().find("its sampling covered"), std::string::npos) << answer;
    }
    const Finished exported =
        run({program_path("perfleet"), "export", "--to", "perf.data", "--data", data_, "-o", file});
    EXPECT_EQ(exported.ending.status, 0) << exported.error_output;
    EXPECT_NE((exported.output + exported.error_output).find("its sampling covered"), std::string::npos);

    // The skipped time is in the next sample's weight.
    const auto top = perfleet_json({"top", "--data", data_, "--event", "timer"});
    for (const auto& column : top.at("columns")) {
        EXPECT_TRUE(column.at("name") != "self" || column.at("unit") == "cycles") << top;
    }
}

TEST_F(Sel4Control, KernelEntriesOfAStoppedLogAreReadAndThrownAway) {
    SimulatedKernel kernel{{.mode = BenchmarkMode::kKernelEntries, .architecture_name = "aarch64"}};
    run_root(kernel, [&] {
        sample_on(100);
        expect_applied({"stop", "--event", "kernel_entries"});
        go_on_for(kCyclesPerSecond);
        expect_applied({"start", "--event", "kernel_entries"});
        sample_on(100);
    });
    read_stored();
    EXPECT_EQ(kernel.swallowed, 0U);
    const auto requests = order_times();
    ASSERT_EQ(requests.size(), 2U);
    auto entries = times(kEntryRows);
    std::sort(entries.begin(), entries.end());
    EXPECT_EQ(stored_[kEntryRows], entries.size());
    // One run of the kernel's entries is missing, that of the stop: entries in the log when the requests came are
    // dropped, too. So are its last records, of the calls that read the log.
    std::vector<std::uint64_t> logged;
    for (const RecordBytes& record : kernel.logged) {
        std::memcpy(&logged.emplace_back(), record.data(), sizeof logged.back());
    }
    std::vector<std::uint64_t> missing;
    std::set_difference(logged.begin(), logged.end(), entries.begin(), entries.end(), std::back_inserter(missing));
    constexpr std::size_t kOfCallsMax = 16;
    const auto first_after =
        std::find_if(entries.begin(), entries.end(), [&](auto start) { return start > requests[0]; });
    ASSERT_NE(first_after, entries.end());
    const auto stopped = static_cast<std::size_t>(count_between(missing, 0, *first_after));
    const auto inside = static_cast<std::size_t>(count_between(logged, requests[0], requests[1]));
    EXPECT_GT(inside, 100U);
    EXPECT_EQ(count_between(entries, requests[0], requests[1]), 0);
    EXPECT_LE(stopped, inside + kOfCallsMax);
    EXPECT_LE(missing.size() - stopped, kOfCallsMax);
    EXPECT_EQ(entries.size() + missing.size(), logged.size()) << "each once";
    // The run has no holes.
    const auto run_begin = std::find(logged.begin(), logged.end(), missing.front());
    EXPECT_TRUE(std::equal(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(stopped), run_begin));
}

// Compared with the kernel's own count, which continues while the collector ends.
TEST_F(Sel4Control, EachEntryUpToTheEndIsARowOrInTheLedger) {
    SimulatedKernel kernel{{.mode = BenchmarkMode::kKernelEntries, .architecture_name = "aarch64"}};
    const auto log = [&](int count) {
        for (int i = 0; i < count; ++i) {
            kernel.log_entry(1, 0);
        }
    };
    run_root(kernel, [&] {
        sample_on(50);
        log(1'027);
        run_->turn(machine_->wait());  // leaves a few that it counts
        kernel.behind_finalize = [&] { log(20); };
    });
    read_stored();
    EXPECT_EQ(kernel.swallowed, 0U);
    EXPECT_EQ(stored_[kEntryRows] + unflushed_, kernel.logged.size() - 1) << "but for the last look itself";
    EXPECT_EQ(unflushed_, 21U) << "of one look";
}

TEST_F(Sel4Control, PeriodsAreTakenInBoundsAndWhatItCantDoIsRefusedWithTheReason) {
    SimulatedKernel kernel{{.mode = BenchmarkMode::kUtilisation, .architecture_name = "aarch64"}};
    run_root(kernel, [&] {
        sample_on(20);
        const Answer frequency = control({"--frequency", "99"});
        EXPECT_EQ(frequency.outcome, "refused");
        EXPECT_EQ(frequency.reason, "it samples by periods: --period");
        const Answer too_short = control({"--period", "5", "--event", "timer"});
        EXPECT_EQ(too_short.outcome, "refused");
        EXPECT_EQ(too_short.reason, "periods of 0.1 to 10 ms, in cycles");
        const Answer of_windows = control({"--period", "1000000", "--event", "utilisation"});
        EXPECT_EQ(of_windows.outcome, "refused");
        EXPECT_EQ(of_windows.reason, "only samples have a period");
        expect_applied({"--period", "250000", "--event", "cycles"});
        EXPECT_EQ(machine_->cycles_period, 250'000U);
        expect_applied({"--period", "8000000", "--event", "timer"});
        sample_on(400);
    });
    read_stored();
    EXPECT_EQ(stored_[kTimerSamples] + stored_[kCycleSamples], counts_.samples);
    const auto requests = order_times();
    ASSERT_EQ(requests.size(), 2U) << "refused orders changed nothing";
    auto timer = times(kTimerSamples);
    std::sort(timer.begin(), timer.end());
    std::vector<std::uint64_t> gaps;
    for (std::size_t i = 1; i < timer.size(); ++i) {
        // The one that was under way when the request came belongs to neither.
        if (timer[i - 1] > requests[1]) {
            gaps.push_back(timer[i] - timer[i - 1]);
        }
    }
    ASSERT_GT(gaps.size(), 2U);
    // Jitter goes down to half a period; a late host makes gaps longer, and the next one shorter by as much.
    std::sort(gaps.begin(), gaps.end());
    EXPECT_GT(gaps[gaps.size() / 2], 2'000'000U) << "of a millisecond it would be 0.5 to 1.5";
}

}  // namespace
}  // namespace perfleet::end_to_end::sel4_control_test
