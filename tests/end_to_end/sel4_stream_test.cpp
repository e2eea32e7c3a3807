// What a seL4 kernel logged, streamed by the library that runs on seL4 – here on a simulated kernel with recorded bytes
// – through a real gateway: answers have to be those of the same bytes imported.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

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
constexpr std::string_view kThreadNames[] = {"root", "busy"};

class Sel4Stream : public testing::Test {
protected:
    Sel4Stream() { features_.version = "16.0.0"; }

    // A collector on `kernel`, from its first row to its Bye. `take` is called until it returns false.
    void stream(SimulatedKernel& kernel, std::span<const EventDescription> events,
                const std::function<bool(RowSink&)>& take) {
        GatewayProgram gateway{streamed_};
        SmallTarget target;
        target.target = TargetId{0x5e14};
        target.name = "board";
        target.architecture = "aarch64";
        target.session = {5, 6};
        target.clock = {.name = "pmccntr", .ticks_per_second = kNsPerSecond};
        target.start_point = {Ticks{1'000}, UtcNs{1'700'000'000 * kNsPerSecond}, 0};
        target.events = events;
        SocketStream socket{gateway.listen()};
        ZmtpDriver driver{socket};
        const auto collector = std::make_unique<SmallCollector>(target, driver);
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

    // Rows without what two sessions have of their own.
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
    const KernelDescription description{features_, {.thread_names = kThreadNames}};
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
    int turns = 0;
    stream(kernel, {&event, 1}, [&](RowSink& sink) { return turns++ == 0 && window.turn(sink).ok(); });
    import({"--format", "sel4-utilisation", "--threads", "root,busy", folder_ / "words"});
    expect_equal({"utilisation"});
}

}  // namespace
}  // namespace perfleet::end_to_end::sel4_stream_test
