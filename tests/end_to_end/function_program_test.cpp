// perfleet latency --function beside a program that counts its calls itself, and beside bare uprobes.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/process.h"
#include "tools/perfleet/function/function_finder.h"

namespace perfleet::end_to_end::function_program_test {
namespace {

using nlohmann::json;

constexpr std::uint64_t kRounds = 60;
constexpr std::uint64_t kCaught = kRounds / 3;

std::map<std::string, json> rows_by(const std::string& column, const json& answer) {
    std::map<std::string, json> rows;
    for (const json& row : answer.at("rows")) {
        json named;
        for (std::size_t i = 0; i < row.size(); ++i) {
            named[answer.at("columns")[i].at("name").get<std::string>()] = row[i];
        }
        rows[named.at(column).get<std::string>()] = named;
    }
    return rows;
}

std::uint64_t number_in(const std::string& text, const std::string& name) {
    const std::size_t at = text.find(name + "=");
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + 1));
}

// Warnings are wrapped.
std::string words(const std::string& text) {
    std::istringstream stream{text};
    std::string joined;
    for (std::string word; stream >> word;) {
        joined += (joined.empty() ? "" : " ") + word;
    }
    return joined;
}

// A uprobe that only counts, of the process and its threads; -1: not available here.
int open_bare_uprobe(const std::string& path, std::uint64_t file_offset, pid_t pid) {
    std::ifstream type_file{"/sys/bus/event_source/devices/uprobe/type"};
    perf_event_attr attr{};
    attr.size = sizeof(attr);
    if (!(type_file >> attr.type)) {
        return -1;
    }
    attr.uprobe_path = reinterpret_cast<std::uint64_t>(path.c_str());
    attr.probe_offset = file_offset;
    attr.inherit = 0;
    return static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

class FunctionProgram : public ::testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0 || ::access("/sys/bus/event_source/devices/uprobe/type", F_OK) != 0) {
            GTEST_SKIP() << "needs root and uprobes";
        }
    }

    std::vector<std::string> latency(const std::vector<std::string>& functions,
                                     const std::vector<std::string>& options = {"--format", "json"}) {
        std::vector<std::string> command{program_path("perfleet"), "latency", "--data", data_};
        for (const std::string& function : functions) {
            command.insert(command.end(), {"--function", function});
        }
        command.insert(command.end(), options.begin(), options.end());
        return command;
    }

    static std::vector<std::string> with(std::vector<std::string> command, const std::vector<std::string>& more) {
        command.insert(command.end(), more.begin(), more.end());
        return command;
    }

    const std::string workload_ = workload_path("function_workload");
    TemporaryFolder folder_;
    std::string data_ = folder_ / "store";
};

TEST_F(FunctionProgram, CountsWhatTheProgramItselfCounts) {
    const Finished finished =
        run(with(latency({"function_workload:work::recurse", "function_workload:work::passes",
                          workload_ + ":_ZN4work7throwerEi", "function_workload:work::jumper",
                          "function_workload:work::ends_with_a_call", "function_workload:work::cases"}),
                 {"--", workload_}));
    EXPECT_EQ(finished.ending.status, 7) << "the program's own: " << finished.error_output;
    // It has caught its exceptions as always, and its output isn't in the answer.
    EXPECT_EQ(number_in(finished.error_output, "caught"), kCaught) << finished.error_output;
    const json answer = json::parse(finished.output);
    const auto rows = rows_by("event", answer);
    const auto count = [&](const std::string& function) {
        return rows.contains("function_workload:" + function)
                   ? rows.at("function_workload:" + function).at("count").get<std::uint64_t>()
                   : 0;
    };
    EXPECT_EQ(count("work::recurse"), number_in(finished.error_output, "recurse"));
    EXPECT_EQ(count("work::passes"), kRounds - kCaught);
    EXPECT_EQ(count("_ZN4work7throwerEi"), kRounds - kCaught);
    EXPECT_EQ(count("work::jumper"), kRounds / 2);
    EXPECT_EQ(count("work::ends_with_a_call"), kRounds);
    EXPECT_EQ(count("work::cases"), kRounds);
    for (const char* const left : {"work::passes: 20 of 60 calls didn't return", "work::jumper: 30 of 60 calls",
                                   "work::ends_with_a_call: 60 of 60 times end at a jump to another function"}) {
        EXPECT_NE(words(finished.error_output).find(left), std::string::npos) << finished.error_output;
    }
    EXPECT_EQ(finished.error_output.find("begun before"), std::string::npos) << finished.error_output;
    EXPECT_EQ(answer.at("ledger").at("produced"), answer.at("ledger").at("stored"));
    // Stored for later, too.
    const Finished again = run({program_path("perfleet"), "latency", "--data", data_, "--event",
                                "function_workload:work::cases", "--format", "json"});
    EXPECT_EQ(rows_by("event", json::parse(again.output)).size(), 1U) << again.error_output;
}

// A return that the kernel catches is tied to the thread: it ends these programs, or keeps them from ending.
TEST_F(FunctionProgram, ContextsThatTakeTurnsRunAsEverAndHaveTheirTimes) {
    const std::string workload = workload_path("context_workload");
    const Finished finished = run(with(latency({"context_workload:turn"}, {"--no-rows"}), {"--", workload}));
    EXPECT_EQ(finished.ending.status, 5) << finished.error_output;
    EXPECT_EQ(number_in(finished.error_output, "turns"), 600U) << finished.error_output;
    EXPECT_NE(finished.output.find("count: 600"), std::string::npos) << finished.output;
    const std::size_t total = finished.output.find("total: ");
    ASSERT_NE(total, std::string::npos);
    EXPECT_GE(std::stoull(finished.output.substr(total + 7)), number_in(finished.error_output, "inside_ns"));
    EXPECT_EQ(finished.error_output.find("warning"), std::string::npos) << finished.error_output;
}

// Each of their additions runs Perl code within C code, and switches to another coroutine there.
TEST_F(FunctionProgram, CoroutinesOfPerlRunAsEver) {
    const std::string load =
        "use Coro; package N; use overload '+' => sub { Coro::cede(); 7 * $_[1] % 5 }; package main; ";
    const std::string work =
        "my $n = bless [], 'N'; my @c = map { async { for (1 .. 5) { my @s = sort { $a <=> $b } map { $n + $_ } 1 .. 9 "
        "} } } 1 .. 20; $_->join for @c; print 'coroutines=' . @c . qq{\n};";
    if (run({"perl", "-e", load}).ending.status != 0) {
        GTEST_SKIP() << "perl has no Coro (tools/setup)";
    }
    const auto sorts_of = [&](const std::string& script) {
        const Finished finished =
            run(with(latency({"perl:Perl_runops_standard", "perl:Perl_pp_sort"}), {"--", "perl", "-e", script}));
        EXPECT_EQ(finished.ending.status, 0) << finished.ending.signal << finished.error_output;
        EXPECT_EQ(number_in(finished.error_output, "coroutines"), script == load ? 0U : 20U) << finished.error_output;
        EXPECT_EQ(finished.error_output.find("begun before"), std::string::npos) << finished.error_output;
        EXPECT_EQ(finished.error_output.find("pp_sort: "), std::string::npos) << finished.error_output;
        const auto rows = rows_by("event", json::parse(finished.output));
        EXPECT_TRUE(rows.contains("perl:Perl_runops_standard"));
        return rows.contains("perl:Perl_pp_sort") ? rows.at("perl:Perl_pp_sort").at("count").get<int>() : 0;
    };
    const int while_it_loads = sorts_of(load);
    EXPECT_EQ(sorts_of(load + work) - while_it_loads, 100);
}

TEST_F(FunctionProgram, GoroutinesHaveTheirTimesWhicheverThreadRunsThem) {
    const std::string program = folder_ / "goroutine_workload";
    Process::Options options;
    options.environment = {"GOCACHE=" + (folder_ / "cache"), "GOFLAGS=-mod=mod"};
    const Finished built = run(
        {"go", "build", "-o", program, std::string{PERFLEET_SOURCE_DIR} + "/tests/end_to_end/goroutine_workload.go"},
        options);
    if (built.ending.status != 0) {
        GTEST_SKIP() << "there is no Go compiler (tools/setup): " << built.error_output;
    }
    const std::string name = "goroutine_workload:main.";
    const Finished finished =
        run(with(latency({name + "wait", name + "descend", name + "recovered", name + "leave"}), {"--", program}));
    EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    const auto rows = rows_by("event", json::parse(finished.output));
    for (const char* const function : {"wait", "descend", "recovered"}) {
        ASSERT_TRUE(rows.contains(name + function)) << finished.output << finished.error_output;
        EXPECT_EQ(rows.at(name + function).at("count"), number_in(finished.error_output, function)) << function;
    }
    EXPECT_FALSE(rows.contains(name + "leave")) << "a panic leaves each";
    EXPECT_NE(words(finished.error_output).find("main.leave: 480 of 480 calls didn't return"), std::string::npos)
        << finished.error_output;
    constexpr double kSleepNs = 10'000'000;
    EXPECT_GE(rows.at(name + "wait").at("min").get<double>(), kSleepNs);
}

TEST_F(FunctionProgram, NamesAFunctionThatWasNotCalled) {
    const Finished finished = run(with(latency({"work::recurse", "function_workload:begins_with_push"}, {"--no-rows"}),
                                       {"--", workload_, "push", "3"}));
    EXPECT_NE(words(finished.error_output).find("function_workload:work::recurse was not called"), std::string::npos)
        << finished.error_output;
    EXPECT_EQ(finished.error_output.find("begins_with_push was not called"), std::string::npos);
}

TEST_F(FunctionProgram, UretprobesCountTheSameWhereTheyAreAskedFor) {
    const Finished finished = run(with(latency({"function_workload:begins_with_push"}, {"--no-rows", "--uretprobe"}),
                                       {"--", workload_, "push", "50"}));
    EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    EXPECT_NE(finished.output.find("count: 50"), std::string::npos) << finished.output;
}

// Within a call, as in two processes of one program: only the call that had begun before has no time.
TEST_F(FunctionProgram, CallsOfTwoRunningProcessesThatHadBegunBeforeAreCounted) {
    std::array<Process, 2> workloads{Process{{workload_, "wait"}}, Process{{workload_, "wait"}}};
    std::string pids;
    for (Process& workload : workloads) {
        ASSERT_TRUE(workload.wait_for_output("waits"));
        pids += (pids.empty() ? "" : ",") + std::to_string(workload.pid());
    }
    Process latency_program{with(
        latency({"function_workload:work::waits", "function_workload:work::passes"}, {"--no-rows", "--watch", "0.1"}),
        {"-p", pids})};
    ASSERT_TRUE(latency_program.wait_for_output("function_workload:work::passes")) << latency_program.error_output();
    for (Process& workload : workloads) {
        workload.send_signal(SIGUSR1);
        ASSERT_TRUE(workload.wait());
    }
    ASSERT_TRUE(latency_program.wait());
    const std::string said = words(latency_program.error_output());
    EXPECT_NE(said.find("work::waits: 2 calls had begun before: not counted"), std::string::npos) << said;
    EXPECT_NE(said.find("work::passes: 40 of 120 calls didn't return"), std::string::npos) << said;
    EXPECT_EQ(said.find("not called"), std::string::npos) << said;
}

TEST_F(FunctionProgram, HistogramInTheKernelAndRowsHaveTheSameCounts) {
    const std::vector<std::string> functions{"function_workload:work::recurse", "libc:malloc"};
    const auto buckets_of = [&](const std::vector<std::string>& options) {
        const Finished finished = run(with(latency(functions, options), {"--", workload_}));
        std::uint64_t sum = 0;
        std::istringstream lines{finished.output};
        for (std::string line; std::getline(lines, line);) {
            if (const std::size_t arrow = line.find("->"); arrow != std::string::npos) {
                sum += std::stoull(line.substr(line.find(':') + 1));
            }
        }
        EXPECT_GT(sum, 0U) << finished.output << finished.error_output;
        return sum;
    };
    const std::uint64_t count = buckets_of({"--no-rows"});
    EXPECT_EQ(buckets_of({"--histogram", "log2"}), count);
    EXPECT_EQ(buckets_of({}), count) << "drawn above the figures where no view is chosen";
}

TEST_F(FunctionProgram, FollowsWhatACommandStartsIfAsked) {
    const std::string recurse = workload_ + ":work::recurse";
    const std::vector<std::string> command{"--", "sh", "-c", workload_ + "; true"};
    const Finished alone = run(with(latency({recurse}), command));
    EXPECT_NE(alone.error_output.find(" followed; --follow does"), std::string::npos) << alone.error_output;
    const Finished followed = run(with(latency({recurse}, {"--format", "json", "--follow"}), command));
    ASSERT_EQ(followed.ending.status, 0) << followed.error_output;
    const auto rows = rows_by("event", json::parse(followed.output));
    ASSERT_EQ(rows.size(), 1U) << followed.output;
    EXPECT_EQ(rows.begin()->second.at("count").get<std::uint64_t>(), number_in(followed.error_output, "recurse"));
}

// From the start of one to the end of the other. Each of the rounds calls both, in this order.
TEST_F(FunctionProgram, TimesBetweenTwoFunctionsGoToLatencyHistogramAndDiff) {
    const std::string ends = "function_workload:work::ends_with_a_call";
    const std::string last = "function_workload:work::last_called";
    const std::string pair = ends + "%entry," + last;
    const Finished finished = run(with(latency({ends, last}, {"--format", "json", "--pair", pair}), {"--", workload_}));
    const json answer = json::parse(finished.output);
    const auto rows = rows_by("event", answer);
    ASSERT_EQ(rows.size(), 1U) << finished.output << finished.error_output;
    EXPECT_EQ(rows.begin()->second.at("count"), kRounds);
    EXPECT_EQ(rows.begin()->second.at("unit"), "ns");
    EXPECT_EQ(run(with(latency({ends, last}, {"--pair", pair}), {"--", workload_})).ending.status, 7);
    const auto ask = [&](std::vector<std::string> words) {
        words.insert(words.begin(), program_path("perfleet"));
        words.insert(words.end(), {"--data", data_, "--format", "json"});
        const Finished asked = run(words);
        EXPECT_EQ(asked.ending.status, 0) << asked.error_output;
        return asked.output;
    };
    std::uint64_t drawn = 0;
    const json histogram = json::parse(ask({"latency", "--session", "last", "--pair", pair, "--histogram", "log2"}));
    for (const json& row : histogram.at("rows")) {
        drawn += row[2].get<std::uint64_t>();
    }
    EXPECT_EQ(drawn, kRounds);
    const auto lines =
        rows_by("figure", json::parse(ask({"diff", "--before", "last~1", "--after", "last", "--pair", pair})));
    ASSERT_TRUE(lines.contains("mean")) << histogram;
    EXPECT_EQ(lines.at("mean").at("event"), ends + "%entry to " + last);
    EXPECT_EQ(lines.at("mean").at("before_count"), kRounds);
    EXPECT_EQ(lines.at("mean").at("after_count"), kRounds);
}

TEST_F(FunctionProgram, FollowsARunningProcessBesideABareUprobe) {
    Process workload{{workload_, "wait"}};
    ASSERT_TRUE(workload.wait_for_output("waits"));
    const auto images = images_of_process(static_cast<std::uint32_t>(workload.pid()));
    ASSERT_TRUE(images.ok()) << images.error().message;
    const auto function = find_function(images->images.front(), "work::passes", {});
    ASSERT_TRUE(function.ok()) << function.error().message;
    const int bare = open_bare_uprobe(workload_, function->traced.parts.front().file_offset, workload.pid());
    ASSERT_GE(bare, 0) << std::strerror(errno);
    Process latency_program{with(latency({"function_workload:work::passes"}, {"--no-rows", "--watch", "0.1"}),
                                 {"-p", std::to_string(workload.pid())})};
    ASSERT_TRUE(latency_program.wait_for_output("function_workload:work::passes")) << latency_program.error_output();
    workload.send_signal(SIGUSR1);
    ASSERT_TRUE(workload.wait());
    const auto ending = latency_program.wait();
    ASSERT_TRUE(ending);
    EXPECT_EQ(ending->status, 0) << latency_program.error_output();
    std::uint64_t entered = 0;
    EXPECT_EQ(::read(bare, &entered, sizeof(entered)), static_cast<ssize_t>(sizeof(entered)));
    ::close(bare);
    EXPECT_EQ(entered, kRounds);
    const std::string last = latency_program.output().substr(latency_program.output().rfind("avg = "));
    EXPECT_NE(last.find("count: " + std::to_string(entered - kCaught)), std::string::npos) << last;
}

// Its programs know the host's ids: a process of a container would have no calls.
TEST_F(FunctionProgram, OfAProcessInAPidNamespaceIsRefused) {
    const std::vector<std::string> there{"unshare", "--fork", "--pid", "--mount-proc"};
    std::vector<std::string> command = there;
    command.emplace_back("true");
    if (run(command).ending.status != 0) {
        GTEST_SKIP() << "no PID namespace can be made";
    }
    command = with(latency({"function_workload:work::recurse"}), {"--", workload_});
    command.insert(command.begin(), there.begin(), there.end());
    const Finished refused = run(command);
    EXPECT_EQ(refused.ending.status, 1);
    EXPECT_NE(refused.error_output.find("PID namespace"), std::string::npos) << refused.error_output;
}

TEST_F(FunctionProgram, SaysWhatIsWrong) {
    const auto error_of = [&](const std::vector<std::string>& functions, const std::vector<std::string>& of_whom) {
        const Finished finished = run(with(latency(functions), of_whom));
        EXPECT_NE(finished.ending.status, 0);
        EXPECT_EQ(finished.output, "");
        return finished.error_output;
    };
    const std::vector<std::string> program{"--", workload_};
    const auto expect = [](const std::string& message, const std::string& part) {
        EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    expect(error_of({"function_workload:work::recurs"}, program), "near: work::recurse");
    expect(error_of({"function_workload:work::same"}, program), "2 functions have this name");
    expect(error_of({"libnone:f"}, program), "'libnone': the program function_workload has no image of that name");
    expect(error_of({"work::recurs"}, program), "near: work::recurse");
    expect(error_of({":f"}, program), "isn't [IMAGE:]FUNCTION");
    expect(error_of({"malloc"}, {"-a"}), "with -a it needs an image, such as libc:malloc");
    expect(error_of({"libc:malloc"}, {}), "whose calls are timed? -p PID, -a or -- COMMAND");
    expect(error_of({"libc:malloc"}, {"-p", "999999999"}), "there is no process 999999999");
    expect(error_of({}, {"-a"}), "-a: needs --function");
    if (::access("/sys/bus/event_source/devices/kprobe/type", F_OK) != 0) {
        expect(error_of({"kernel:vfs_read"}, program), "this kernel has no kprobes");
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::function_program_test
