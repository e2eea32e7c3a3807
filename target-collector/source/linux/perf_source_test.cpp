#include "target-collector/source/linux/perf_source.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "target-collector/source/linux/testing/recording_sink.h"
#include "target-collector/source/linux/testing/worker.h"

namespace perfleet {
namespace {

std::string name_of_image(const RecordingSink& sink, std::uint64_t number) {
    for (const auto& row : sink.of(Kind::kImage)) {
        if (row[ColumnId::kNumber] == number) {
            return row.bytes.at(ColumnId::kNameBytes);
        }
    }
    return "?";
}

constexpr Series kFirstSample{Kind::kSample, EventNumber{0}};
constexpr Series kFirstTracepoint{Kind::kTracepoint, EventNumber{0}};

TEST(PerfSource, SamplesOfABusyProcessLieInItsFunctions) {
    Worker worker([] { burn_cpu(300'000'000); });
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.frequency_hz = 999;
    const std::uint32_t pid = worker.pid();
    RecordingSink sink;
    const auto source = record(worker, options, "cpu-clock:u", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;

    const auto samples = sink.of(Kind::kSample);
    ASSERT_GT(samples.size(), 20U);
    std::map<std::uint64_t, RecordingSink::Row> nodes;
    for (const auto& row : sink.of(Kind::kStack)) {
        nodes.emplace(row[ColumnId::kNumber], row);
    }
    std::size_t in_own_image = 0;
    std::uint64_t last_time = 0;
    for (const auto& sample : samples) {
        ASSERT_EQ(sample[ColumnId::kPid], pid);
        EXPECT_GE(sample[ColumnId::kTime], last_time);
        last_time = sample[ColumnId::kTime];
        EXPECT_GT(sample[ColumnId::kWeight], 0U);
        ASSERT_TRUE(nodes.contains(sample[ColumnId::kStack]));
        const auto& node = nodes.at(sample[ColumnId::kStack]);
        const std::string image = name_of_image(sink, node[ColumnId::kImage]);
        in_own_image += image.ends_with("source_linux_test") ? 1U : 0U;
    }
    EXPECT_GT(in_own_image * 10, samples.size() * 9);
    EXPECT_EQ(sink.count_of(kFirstSample, CountName::kProduced), samples.size());
}

TEST(PerfSource, CountsEverySystemCallOrItsLoss) {
    if (const std::string why = why_not_as_root(); !why.empty()) {
        GTEST_SKIP() << why;
    }
    constexpr std::uint64_t kCalls = 200'000;
    Worker worker([] {
        for (std::uint64_t i = 0; i < kCalls; ++i) {
            ::syscall(SYS_getppid);
        }
    });
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.period = 1;
    options.events.ring_page_count = 2;
    RecordingSink sink;
    const auto source = record(worker, options, "syscalls:sys_enter_getppid", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    const std::uint64_t lost = sink.count_of(kFirstTracepoint, CountName::kLostKernelRing);
    const auto rows = sink.of(Kind::kTracepoint);
    EXPECT_EQ(rows.size() + lost, kCalls);
    EXPECT_EQ(sink.count_of(kFirstTracepoint, CountName::kProduced), kCalls);
    std::uint64_t counted = 0;
    std::map<std::uint64_t, std::uint64_t> last;
    for (const auto& row : sink.of(Kind::kCounter)) {
        last[row[ColumnId::kCpu]] = row[ColumnId::kValue];
    }
    for (const auto& [cpu, value] : last) {
        counted += value;
    }
    EXPECT_EQ(counted, kCalls);
    std::uint64_t lost_in_rows = 0;
    for (const auto& row : sink.of(Kind::kTask)) {
        lost_in_rows += row[ColumnId::kTaskOp] == static_cast<std::uint64_t>(TaskOp::kLost) ? row[ColumnId::kSize] : 0;
    }
    EXPECT_EQ(lost_in_rows, lost);
}

TEST(PerfSource, OfAProcessOneThreadAloneIsTaken) {
    std::atomic<bool> is_over{false};
    std::atomic<std::uint32_t> tids[2]{};
    std::vector<std::thread> threads;
    for (auto& tid : tids) {
        threads.emplace_back([&] {
            tid = static_cast<std::uint32_t>(::gettid());
            while (!is_over) {
                burn_cpu(1'000);
            }
        });
    }
    while (tids[0] == 0 || tids[1] == 0) {
        std::this_thread::yield();
    }
    PerfSourceOptions options;
    options.events.tids = {tids[1]};
    options.events.sampling.frequency_hz = 999;
    auto source = open_source(options, "cpu-clock:u");
    ASSERT_TRUE(source.ok()) << source.error().message;
    RecordingSink sink;
    (*source)->begin(sink);
    while (sink.of(Kind::kSample).size() < 20) {
        (*source)->drain();
    }
    EXPECT_FALSE((*source)->all_processes_ended());
    is_over = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
    while (!(*source)->all_processes_ended()) {
        (*source)->drain();
    }
    (*source)->finish();
    for (const auto& sample : sink.of(Kind::kSample)) {
        EXPECT_EQ(sample[ColumnId::kTid], tids[1]);
    }
}

TEST(PerfSource, AThreadThatIsntThereIsNamed) {
    PerfSourceOptions options;
    options.events.tids = {0x7fff'fff0};
    const auto source = open_source(options, "cpu-clock:u");
    ASSERT_FALSE(source.ok());
    EXPECT_EQ(source.error().code, ErrorCode::kNotFound);
    EXPECT_NE(source.error().message.find("-t 2147483632"), std::string::npos) << source.error().message;
}

// Every number that a row uses is defined before it, in the row's epoch.
void expect_all_defined(const RecordingSink& sink) {
    std::map<std::uint32_t, std::set<std::uint64_t>> strings;
    std::map<std::uint32_t, std::set<std::uint64_t>> images;
    std::map<std::uint32_t, std::set<std::uint64_t>> stacks;
    for (const auto& row : sink.rows) {
        switch (row.series.kind) {
            case Kind::kString:
                EXPECT_TRUE(strings[row.epoch].insert(row[ColumnId::kNumber]).second);
                EXPECT_EQ(row[ColumnId::kNumber], strings[row.epoch].size());
                break;
            case Kind::kImage:
                EXPECT_TRUE(images[row.epoch].insert(row[ColumnId::kNumber]).second);
                EXPECT_EQ(row[ColumnId::kNumber] + 1, images[row.epoch].size());
                break;
            case Kind::kStack:
                EXPECT_TRUE(row[ColumnId::kParent] == 0 || stacks[row.epoch].contains(row[ColumnId::kParent]));
                EXPECT_TRUE(images[row.epoch].contains(row[ColumnId::kImage]));
                EXPECT_TRUE(stacks[row.epoch].insert(row[ColumnId::kNumber]).second);
                EXPECT_EQ(row[ColumnId::kNumber], stacks[row.epoch].size());
                break;
            case Kind::kSample:
            case Kind::kTracepoint: EXPECT_TRUE(stacks[row.epoch].contains(row[ColumnId::kStack])); break;
            case Kind::kTask:
                EXPECT_TRUE(row[ColumnId::kString] == 0 || strings[row.epoch].contains(row[ColumnId::kString]));
                if (row[ColumnId::kTaskOp] == static_cast<std::uint64_t>(TaskOp::kMap)) {
                    EXPECT_TRUE(images[row.epoch].contains(row[ColumnId::kImage]));
                }
                break;
            default: break;
        }
    }
}

std::string string_of(const RecordingSink& sink, const RecordingSink::Row& user) {
    for (const auto& row : sink.of(Kind::kString)) {
        if (row.epoch == user.epoch && row[ColumnId::kNumber] == user[ColumnId::kString]) {
            return row.bytes.at(ColumnId::kNameBytes);
        }
    }
    return "";
}

[[gnu::noinline]] void recurse_and_burn(unsigned depth) {
    if (depth > 0) {
        recurse_and_burn(depth - 1);
    } else {
        burn_cpu(200'000'000);
    }
    volatile unsigned done = depth;  // no tail call
    (void)done;
}

// By frame pointers the kernel gives so many frames.
TEST(PerfSource, AChainThatTheKernelCutsSaysSo) {
    const auto is_marked = [](unsigned depth) {
        Worker worker([depth] { recurse_and_burn(depth); });
        PerfSourceOptions options;
        options.events.pids = {worker.pid()};
        options.events.callchain = true;
        options.events.sampling.frequency_hz = 999;
        RecordingSink sink;
        const auto source = record(worker, options, "cpu-clock:u", sink);
        EXPECT_TRUE(source.ok()) << source.error().message;
        EXPECT_GT(sink.of(Kind::kSample).size(), 10U);
        const auto images = sink.of(Kind::kImage);
        const bool has_mark = std::any_of(images.begin(), images.end(), [](const auto& image) {
            return image.bytes.at(ColumnId::kNameBytes) == "[truncated: depth]";
        });
        EXPECT_EQ(has_mark, sink.count_of(kFirstSample, CountName::kFramesTruncated) > 0);
        return has_mark;
    };
    EXPECT_TRUE(is_marked(1'000));
    EXPECT_FALSE(is_marked(5));
}

// Of cycles, or of cpu-clock in their place.
TEST(PerfSource, WithoutAnEventOfItsNameItIsLimitedAsAsked) {
    if (const std::string why = why_not_as_root(); !why.empty()) {
        GTEST_SKIP() << why;
    }
    PerfSourceOptions options;
    options.events.pids = {static_cast<std::uint32_t>(::getpid())};
    options.events.all_kernel = true;
    options.events.is_inherited = false;
    const auto source = PerfSource::open(std::move(options), [](std::string_view) {});
    ASSERT_TRUE(source.ok()) << source.error().message;
    const EventSpec& spec = (*source)->events().events().front().spec;
    EXPECT_TRUE(spec.exclude_user) << spec.name;
    EXPECT_FALSE(spec.exclude_kernel) << spec.name;
    EXPECT_FALSE(spec.is_inherited) << spec.name;
}

TEST(PerfSource, SystemWideItSeesTheKernelAndOthersButNotItself) {
    if (const std::string why = why_not_as_root(); !why.empty()) {
        GTEST_SKIP() << why;
    }
    Worker worker([] { burn_cpu(200'000'000); });
    const std::uint32_t pid = worker.pid();
    PerfSourceOptions options;
    options.events.all_cpus = true;
    options.events.callchain = true;
    options.events.sampling.frequency_hz = 999;
    auto source = open_source(options, "cpu-clock");
    ASSERT_TRUE(source.ok()) << source.error().message;
    RecordingSink sink;
    (*source)->begin(sink);
    worker.go();
    burn_cpu(50'000'000);
    worker.wait(**source);
    (*source)->finish();
    expect_all_defined(sink);
    std::size_t of_worker = 0;
    for (const auto& sample : sink.of(Kind::kSample)) {
        EXPECT_NE(sample[ColumnId::kPid], static_cast<std::uint64_t>(::getpid()));
        of_worker += sample[ColumnId::kPid] == pid ? 1U : 0U;
    }
    EXPECT_GT(of_worker, 10U);
    EXPECT_GT(sink.count_of(kFirstSample, CountName::kOwnSkipped), 0U);
    bool has_kernel = false;
    for (const auto& image : sink.of(Kind::kImage)) {
        has_kernel = has_kernel || image.bytes.at(ColumnId::kNameBytes) == "[kernel.kallsyms]";
    }
    EXPECT_TRUE(has_kernel);
    bool init_is_present = false;
    for (const auto& row : sink.of(Kind::kTask)) {
        init_is_present = init_is_present || (row[ColumnId::kTaskOp] == static_cast<std::uint64_t>(TaskOp::kPresent) &&
                                              row[ColumnId::kPid] == 1);
    }
    EXPECT_TRUE(init_is_present);
}

TEST(PerfSource, ItselfIsIncludedWhenAsked) {
    if (const std::string why = why_not_as_root(); !why.empty()) {
        GTEST_SKIP() << why;
    }
    PerfSourceOptions options;
    options.events.all_cpus = true;
    options.events.sampling.frequency_hz = 999;
    options.include_self = true;
    auto source = open_source(options, "cpu-clock");
    ASSERT_TRUE(source.ok()) << source.error().message;
    RecordingSink sink;
    (*source)->begin(sink);
    burn_cpu(50'000'000);
    (*source)->finish();
    std::size_t own = 0;
    for (const auto& sample : sink.of(Kind::kSample)) {
        own += sample[ColumnId::kPid] == static_cast<std::uint64_t>(::getpid()) ? 1U : 0U;
    }
    EXPECT_GT(own, 0U);
    EXPECT_EQ(sink.count_of(kFirstSample, CountName::kOwnSkipped), 0U);
}

TEST(PerfSource, FollowsForkExecAndExit) {
    Worker worker([] {
        const pid_t child = ::fork();
        if (child == 0) {
            ::execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done", nullptr);
            ::_exit(1);
        }
        ::waitpid(child, nullptr, 0);
    });
    const std::uint32_t pid = worker.pid();
    PerfSourceOptions options;
    options.events.pids = {pid};
    options.events.callchain = true;
    options.events.sampling.frequency_hz = 2'000;
    RecordingSink sink;
    const auto source = record(worker, options, "cpu-clock", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_TRUE((*source)->all_processes_ended());
    expect_all_defined(sink);

    std::uint64_t child = 0;
    std::vector<std::string> child_scenario;
    for (const auto& row : sink.of(Kind::kTask)) {
        switch (static_cast<TaskOp>(row[ColumnId::kTaskOp])) {
            case TaskOp::kFork:
                if (row[ColumnId::kParentPid] == pid) {
                    child = row[ColumnId::kPid];
                    child_scenario.emplace_back("fork");
                }
                break;
            case TaskOp::kExec:
                EXPECT_EQ(row[ColumnId::kPid], child);
                child_scenario.push_back("exec " + string_of(sink, row));
                break;
            case TaskOp::kExit:
                // The thread sanitizer has a thread of its own in the child, which ends with exec.
                if (row[ColumnId::kTid] == child) {
                    child_scenario.emplace_back("exit");
                }
                break;
            default: break;
        }
    }
    EXPECT_EQ(child_scenario, (std::vector<std::string>{"fork", "exec sh", "exit"}));

    std::map<std::uint64_t, std::string> image_names;
    std::map<std::string, std::uint64_t> build_id_sizes;
    for (const auto& image : sink.of(Kind::kImage)) {
        image_names[image[ColumnId::kNumber]] = image.bytes.at(ColumnId::kNameBytes);
        build_id_sizes[image.bytes.at(ColumnId::kNameBytes)] = image[ColumnId::kBuildIdSize];
    }
    std::map<std::uint64_t, std::uint64_t> image_of_stack;
    for (const auto& node : sink.of(Kind::kStack)) {
        image_of_stack[node[ColumnId::kNumber]] = node[ColumnId::kImage];
    }
    std::size_t of_child = 0;
    std::size_t in_shell = 0;
    for (const auto& sample : sink.of(Kind::kSample)) {
        const std::string& image = image_names[image_of_stack[sample[ColumnId::kStack]]];
        of_child += sample[ColumnId::kPid] == child ? 1U : 0U;
        in_shell += sample[ColumnId::kPid] == child && image.ends_with("sh") ? 1U : 0U;
        EXPECT_NE(image, "");
    }
    EXPECT_GT(of_child, 20U);
    EXPECT_GT(in_shell * 5, of_child);
    for (const auto& [name, size] : build_id_sizes) {
        if (name.ends_with("sh")) {
            EXPECT_EQ(size, 20U) << name;
        }
    }
}

TEST(PerfSource, ALostDefinitionStartsAnEpochThatStandsAlone) {
    Worker worker([] { burn_cpu(400'000'000); });
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.callchain = true;
    options.events.sampling.frequency_hz = 5'000;
    auto source = open_source(options, "cpu-clock");
    ASSERT_TRUE(source.ok()) << source.error().message;
    RecordingSink sink;
    (*source)->begin(sink);
    sink.lose_definitions_after = 5;
    worker.go();
    worker.wait(**source);
    (*source)->finish();
    EXPECT_EQ(sink.epoch, 1U);
    expect_all_defined(sink);
    std::size_t samples_of_second = 0;
    bool is_present_again = false;
    bool is_mapped_again = false;
    for (const auto& row : sink.rows) {
        if (row.epoch == 1 && row.series.kind == Kind::kTask) {
            is_present_again =
                is_present_again || row[ColumnId::kTaskOp] == static_cast<std::uint64_t>(TaskOp::kPresent);
            is_mapped_again = is_mapped_again || row[ColumnId::kTaskOp] == static_cast<std::uint64_t>(TaskOp::kMap);
        }
        samples_of_second += row.epoch == 1 && row.series.kind == Kind::kSample ? 1U : 0U;
    }
    EXPECT_TRUE(is_present_again);
    EXPECT_TRUE(is_mapped_again);
    EXPECT_GT(samples_of_second, 10U);
}

TEST(PerfSource, AFullStackTableStartsAnEpoch) {
    Worker worker([] { ::execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done", nullptr); });
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.frequency_hz = 5'000;
    options.stack_node_count_max = 16;
    RecordingSink sink;
    const auto source = record(worker, options, "cpu-clock:u", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_GT(sink.epoch, 0U);
    expect_all_defined(sink);
    EXPECT_EQ(sink.count_of(kFirstSample, CountName::kProduced), sink.of(Kind::kSample).size());
}

TEST(PerfSource, PeriodsThinOutSoftwareEvents) {
    if (const std::string why = why_not_as_root(); !why.empty()) {
        GTEST_SKIP() << why;
    }
    constexpr std::uint64_t kCalls = 10'000;
    constexpr std::uint64_t kPeriod = 100;
    Worker worker([] {
        for (std::uint64_t i = 0; i < kCalls; ++i) {
            ::syscall(SYS_getppid);
        }
    });
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.period = kPeriod;
    RecordingSink sink;
    const auto source = record(worker, options, "syscalls:sys_enter_getppid", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    const auto rows = sink.of(Kind::kTracepoint);
    // Each CPU that the worker ran on keeps a rest below a period.
    EXPECT_LE(rows.size(), kCalls / kPeriod);
    EXPECT_GE(rows.size(), kCalls / kPeriod - (*source)->events().cpus().size());
    for (const auto& row : rows) {
        EXPECT_EQ(row[ColumnId::kWeight], kPeriod);
        EXPECT_GE(row[ColumnId::kRawSize], 8U);
    }
}

// Runs in a child without privilege; says what went wrong, or nothing.
std::string run_as_nobody(const std::function<std::string()>& work) {
    int report[2];
    EXPECT_EQ(::pipe(report), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(report[0]);
        constexpr uid_t kNobody = 65'534;
        std::string text = "can't become nobody";
        // What changes its user is closed to that user, too, until it says otherwise or runs another program.
        if (::setgid(kNobody) == 0 && ::setuid(kNobody) == 0 && ::prctl(PR_SET_DUMPABLE, 1) == 0) {
            text = work();
        }
        (void)!::write(report[1], text.data(), text.size());
        ::_exit(0);
    }
    ::close(report[1]);
    std::string text;
    char buffer[4'096];
    for (ssize_t got = 0; (got = ::read(report[0], buffer, sizeof(buffer))) > 0;) {
        text.append(buffer, static_cast<std::size_t>(got));
    }
    ::close(report[0]);
    ::waitpid(child, nullptr, 0);
    return text;
}

bool has_word(const std::vector<std::string>& texts, std::string_view word) {
    return std::any_of(texts.begin(), texts.end(),
                       [word](const std::string& text) { return text.find(word) != std::string::npos; });
}

TEST(PerfSource, WithoutPrivilegeItSeesTheUsersOwnProgramsAndSaysSo) {
    if (::getuid() != 0) {
        GTEST_SKIP() << "needs root to become somebody else";
    }
    EXPECT_EQ(run_as_nobody([]() -> std::string {
                  Worker worker([] { burn_cpu(100'000'000); });
                  const std::uint32_t pid = worker.pid();
                  PerfSourceOptions options;
                  options.events.all_cpus = true;
                  options.events.sampling.frequency_hz = 999;
                  std::vector<std::string> logged;
                  auto source = open_source(options, "", &logged);
                  if (!source.ok()) {
                      return source.error().message;
                  }
                  RecordingSink sink;
                  (*source)->begin(sink);
                  worker.go();
                  worker.wait(**source);
                  (*source)->finish();
                  std::size_t of_worker = 0;
                  for (const auto& sample : sink.of(Kind::kSample)) {
                      of_worker += sample[ColumnId::kPid] == pid ? 1U : 0U;
                  }
                  if (of_worker < 10) {
                      return std::to_string(of_worker) + " samples of the worker";
                  }
                  if ((*source)->sees_kernel() || (*source)->events().is_system_wide()) {
                      return "sees more than it may";
                  }
                  return has_word(logged, "user space only") && has_word(logged, "your own processes")
                             ? ""
                             : "says nothing of it";
              }),
              "");
}

TEST(PerfSource, WithoutPrivilegeOthersProcessesAreRefusedWithTheWayOut) {
    if (::getuid() != 0) {
        GTEST_SKIP() << "needs root to become somebody else";
    }
    const std::string message = run_as_nobody([]() -> std::string {
        PerfSourceOptions options;
        options.events.pids = {1};
        auto source = open_source(options, "cpu-clock");
        return source.ok() ? "it was allowed" : source.error().message;
    });
    EXPECT_NE(message.find("perf_event_paranoid"), std::string::npos) << message;
    EXPECT_NE(message.find("CAP_PERFMON"), std::string::npos) << message;
}

TEST(PerfSource, AnEventThatTheMachineLacksIsNamed) {
    if (const std::string why = why_not_as_root(); !why.empty()) {
        GTEST_SKIP() << why;
    }
    PerfSourceOptions options;
    options.events.all_cpus = true;
    auto source = open_source(options, "rffffffffffffffff");
    ASSERT_FALSE(source.ok());
    EXPECT_EQ(source.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(source.error().message.find("rffffffffffffffff"), std::string::npos);
    EXPECT_NE(source.error().message.find("cpu-clock"), std::string::npos);
}

TEST(PerfSource, AProcessThatIsntThereIsNamed) {
    PerfSourceOptions options;
    options.events.pids = {4'194'304};  // beyond Linux' largest
    auto source = open_source(options, "cpu-clock");
    ASSERT_FALSE(source.ok());
    EXPECT_EQ(source.error().code, ErrorCode::kNotFound);
    EXPECT_NE(source.error().message.find("4194304"), std::string::npos);
}

}  // namespace
}  // namespace perfleet
