// A seL4 kernel's log, streamed by the library that runs on seL4 – here on a simulated kernel with recorded bytes –
// through a real gateway: answers have to be those of the same bytes imported.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "target-collector/small/collector_sink.h"
#include "target-collector/source/sel4/kernel_description.h"
#include "target-collector/source/sel4/log_source.h"
#include "target-collector/source/sel4/testing/simulated_kernel.h"
#include "target-collector/source/sel4/utilisation_window.h"
#include "target-collector/wire/testing/socket_stream.h"
#include "target-collector/wire/zmtp_driver.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/golden/golden_file.h"

namespace perfleet::end_to_end::sel4_stream_test {
namespace {

using sel4::BenchmarkMode;
using sel4::KernelDescription;
using sel4::KernelFeatures;
using sel4::SimulatedKernel;

constexpr std::uint64_t kRecordsPerTick = 100;
constexpr SmallThread kThreads[] = {{1, "root"}, {2, "busy"}};

class Sel4Stream : public testing::Test {
protected:
    Sel4Stream() {
        features_.version = "16.0.0";
        target_.session = {5, 6};
    }

    // A collector on `kernel`, from its first row to its Bye. `take` is called until it returns false.
    void stream(SimulatedKernel& kernel, std::span<const EventDescription> events,
                const std::function<bool(RowSink&)>& take) {
        GatewayProgram gateway{streamed_};
        target_.target = TargetId{0x5e14};
        target_.name = "board";
        target_.architecture = "aarch64";
        target_.clock = {.name = "pmccntr", .ticks_per_second = kNsPerSecond};
        target_.start_point = {Ticks{1'000}, UtcNs{1'700'000'000 * kNsPerSecond}, 0};
        target_.events = events;
        SocketStream socket{gateway.listen()};
        ZmtpDriver driver{socket};
        const auto collector = std::make_unique<SmallCollector>(target_, driver);
        collector_ = collector.get();
        CollectorSink sink{*collector};
        while (take(sink)) {
            collector->step(kernel.now());
        }
        collector->finish();
        for (int i = 0; !collector->is_finished(); ++i) {
            ASSERT_LT(i, 1'000'000) << "the gateway doesn't answer";
            kernel.pass(1'000'000);
            collector->step(kernel.now());
            ::usleep(100);
        }
        EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    }

    void import(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {program_path("perfleet"), "import", "--data", imported_, "--arch",
                                             "aarch64", "--kernel-version", "16.0.0"});
        const Finished finished = run(arguments, {});
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    }

    // Rows without the parts that differ between two sessions.
    static nlohmann::json rows_of(const std::string& data, std::vector<std::string> question) {
        question.insert(question.begin(), program_path("perfleet"));
        question.insert(question.end(), {"--format", "json", "--data", data});
        const Finished finished = run(question, {});
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        auto answer = nlohmann::json::parse(finished.output);
        std::set<std::string> own = {"session", "target", "first", "last"};
        auto rows = nlohmann::json::array();
        for (const auto& row : answer["rows"]) {
            auto& kept = rows.emplace_back(nlohmann::json::object());
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (!own.contains(answer["columns"][i]["name"])) {
                    kept[answer["columns"][i]["name"].get<std::string>()] = row[i];
                }
            }
        }
        EXPECT_FALSE(rows.empty());
        return rows;
    }
    void expect_equal(const std::vector<std::string>& question) {
        EXPECT_EQ(rows_of(streamed_, question), rows_of(imported_, question)) << question.back();
    }

    const TemporaryFolder folder_;
    const std::string streamed_ = folder_ / "streamed";
    const std::string imported_ = folder_ / "imported";
    KernelFeatures features_{.architecture_name = "aarch64"};
    SmallTarget target_;
    SmallCollector* collector_ = nullptr;  // of the stream that runs
};

TEST_F(Sel4Stream, KernelEntriesAnswerAsTheSameLogImported) {
    features_.mode = BenchmarkMode::kKernelEntries;
    SimulatedKernel kernel{features_};
    kernel.logs_calls = false;
    const KernelDescription description{features_, {}};
    const EventDescription event{
        .name = "kernel_entries", .kind = Kind::kKernelEntry, .unit = "cycles", .format = description.text()};
    sel4::LogSource source{kernel, EventNumber{0}};
    ASSERT_TRUE(source.start().ok());
    const std::string recorded = golden_file("sel4/entries_aarch64.log");
    kernel.load(std::as_bytes(std::span{recorded}), recorded.size() / kernel.record_size());
    stream(kernel, {&event, 1}, [&](RowSink& sink) { return source.poll(kRecordsPerTick, sink) > 0; });
    import({"--format", "sel4-entries", "--log-index", "512", golden_path("sel4/entries_aarch64.log")});
    expect_equal({"kernel-entries"});
    for (const char* table : {"syscalls", "interrupts"}) {
        expect_equal({"kernel-entries", "--limit", "1000", "--table", table});
    }
    for (const char* key : {"path", "syscall", "cap"}) {
        expect_equal({"kernel-entries", "--table", "durations", "--by", key});
    }
}

TEST_F(Sel4Stream, TracepointsAnswerAsTheSameLogImported) {
    features_.mode = BenchmarkMode::kTracepoints;
    features_.tracepoint_count = 2;
    SimulatedKernel kernel{features_};
    const KernelDescription of_unknown{features_, {}};
    const KernelDescription of_0{features_, {.tracepoint_id = 0}};
    const KernelDescription of_1{features_, {.tracepoint_id = 1}};
    const auto event = [](std::string_view name, const KernelDescription& description) {
        return EventDescription{
            .name = name, .kind = Kind::kTracepoint, .unit = "cycles", .format = description.text()};
    };
    const EventDescription events[] = {event("tracepoints of unknown id", of_unknown), event("tracepoint-0", of_0),
                                       event("tracepoint-1", of_1)};
    sel4::LogSource source{kernel, EventNumber{0}};
    ASSERT_TRUE(source.start().ok());
    const std::string recorded = golden_file("sel4/tracepoints_aarch64.log");
    kernel.load(std::as_bytes(std::span{recorded}), recorded.size() / kernel.record_size());
    stream(kernel, events, [&](RowSink& sink) { return source.poll(kRecordsPerTick, sink) > 0; });
    import({"--format", "sel4-tracepoints", "--log-index", "256", "--max-tracepoints", "2",
            golden_path("sel4/tracepoints_aarch64.log")});
    expect_equal({"tracepoints"});
}

TEST_F(Sel4Stream, UtilisationAnswersAsTheSameWordsImported) {
    features_.mode = BenchmarkMode::kUtilisation;
    SimulatedKernel kernel{features_};
    const KernelDescription description{features_, {}};
    const EventDescription event{
        .name = "utilisation", .kind = Kind::kUtilisation, .unit = "cycles", .format = description.text()};
    sel4::UtilisationWindow window{kernel, EventNumber{0}, 2};
    ASSERT_TRUE(window.begin().ok());
    kernel.words = {{1, {300, 2, 3, 4, 600, 600, 6, 7, 8, 1'000, 10, 11, 12}},
                    {2, {100, 5, 6, 7, 600, 600, 6, 7, 8, 1'000, 10, 11, 12}}};
    std::ofstream words{folder_ / "words", std::ios::binary};
    for (const auto& [thread, values] : kernel.words) {
        words.write(reinterpret_cast<const char*>(values.data()), sizeof values);
    }
    words.close();
    target_.threads = kThreads;
    int turns = 0;
    stream(kernel, {&event, 1}, [&](RowSink& sink) { return turns++ == 0 && window.turn(sink).ok(); });
    import({"--format", "sel4-utilisation", "--threads", "root,busy", folder_ / "words"});
    expect_equal({"utilisation"});
}

// As many as the library watches, each in an address space of its own: their definitions are more than one batch holds,
// and than is kept until the gateway has granted a session. One leaves, and another gets its number.
TEST_F(Sel4Stream, ThreadsThatComeAndGoHaveTheirNames) {
    features_.mode = BenchmarkMode::kUtilisation;
    SimulatedKernel kernel{features_};
    const KernelDescription description{features_, {}};
    const EventDescription event{
        .name = "utilisation", .kind = Kind::kUtilisation, .unit = "cycles", .format = description.text()};
    sel4::UtilisationWindow window{kernel, EventNumber{0}, sel4::kThreadsMax};
    std::vector<std::string> names(sel4::kThreadsMax);
    std::vector<SmallThread> threads(sel4::kThreadsMax);
    for (std::uint32_t i = 0; i < threads.size(); ++i) {
        names[i] = "a thread with a long name, number " + std::to_string(i + 1);
        threads[i] = {.tid = i + 1, .name = names[i], .pid = i + 1};
    }
    target_.threads = threads;
    std::vector<SmallImage> images(SmallCollector::kImagesMax);
    for (std::uint32_t i = 0; i < images.size(); ++i) {
        images[i] = {
            .path = "/some/where/system/root_task", .address = 0x40'0000, .size_bytes = 0x10'0000, .pid = i + 1};
    }
    target_.images = images;
    target_.session = {};
    constexpr std::uint32_t kLast = sel4::kThreadsMax;
    ASSERT_TRUE(window.begin().ok());
    int turns = 0;
    stream(kernel, {&event, 1}, [&](RowSink& sink) {
        if (collector_->status().session.is_none()) {
            return true;
        }
        for (std::uint32_t number = 1; number <= kLast; ++number) {
            kernel.words[number] = {number, 2, 3, 4, 10, 10, 6, 7, 8, 2'090, 10, 11, 12};
        }
        if (turns == 1) {
            kernel.gone.insert(kLast);
            threads.pop_back();
            target_.threads = threads;
            collector_->redefine(kernel.now());
        } else if (turns == 2) {
            kernel.gone.clear();
            threads.push_back({.tid = kLast, .name = "the one that came", .pid = kLast});
            target_.threads = threads;
            collector_->redefine(kernel.now());
        }
        return window.turn(sink).ok() && turns++ < 2;
    });
    std::map<std::uint64_t, std::map<std::string, std::uint64_t>> windows;
    for (const auto& row : rows_of(streamed_, {"utilisation"})) {
        windows[row.at("window")][row.at("thread")] = row.at("cycles");
    }
    ASSERT_EQ(windows.size(), 3U);
    for (auto& [number, found] : windows) {
        std::map<std::string, std::uint64_t> expected{{"idle_thread", 10}, {"total", 2'090}};
        for (std::uint32_t i = 1; i < kLast; ++i) {
            expected[names[i - 1]] = i;
        }
        if (number != 2) {
            expected[number == 1 ? names.back() : "the one that came"] = kLast;
        }
        expected["others"] = number == 2 ? kLast : 0;
        EXPECT_EQ(found, expected) << number;
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::sel4_stream_test
