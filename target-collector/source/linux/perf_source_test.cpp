#include "target-collector/source/linux/perf_source.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>

#include "target-collector/source/linux/recording_sink.h"

namespace perfleet {
namespace {

// A child that does `work` once it is told to, and then ends.
class Worker {
public:
    explicit Worker(const std::function<void()>& work) {
        int go[2];
        EXPECT_EQ(::pipe(go), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(go[1]);
            char byte = 0;
            if (::read(go[0], &byte, 1) == 1) {
                work();
            }
            ::_exit(0);
        }
        ::close(go[0]);
        go_ = go[1];
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        ::close(go_);
    }
    void go() { EXPECT_EQ(::write(go_, "g", 1), 1); }
    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
    // Drains until the child is gone.
    void wait(PerfSource& source) {
        int status = 0;
        while (::waitpid(pid_, &status, WNOHANG) == 0) {
            std::vector<pollfd> fds;
            for (const int fd : source.wake_fds()) {
                fds.push_back({fd, POLLIN, 0});
            }
            ::poll(fds.data(), fds.size(), 5);
            source.drain();
        }
        EXPECT_TRUE(WIFEXITED(status));
        pid_ = -1;
    }

private:
    pid_t pid_ = -1;
    int go_ = -1;
};

__attribute__((noinline)) void burn_cpu(std::uint64_t rounds) {
    volatile std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        sum = sum + i * i;
    }
}

Result<std::unique_ptr<PerfSource>> open_source(PerfSourceOptions options, const std::string& events,
                                                std::vector<std::string>* notices = nullptr) {
    auto parsed = parse_events(events.empty() ? std::vector<std::string>{} : std::vector{events}, TracefsPlaces{});
    if (!parsed.ok()) {
        return std::move(parsed).error();
    }
    options.events.events = std::move(*parsed);
    return PerfSource::open(std::move(options), [notices](std::string_view text) {
        if (notices != nullptr) {
            notices->emplace_back(text);
        }
    });
}

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
    auto source = open_source(options, "cpu-clock:u");
    ASSERT_TRUE(source.ok()) << source.error().message;
    const std::uint32_t pid = worker.pid();
    RecordingSink sink;
    (*source)->begin(sink);
    worker.go();
    worker.wait(**source);
    (*source)->finish();

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
    EXPECT_EQ(sink.count_of(kFirstSample, TallyName::kProduced), samples.size());
}

TEST(PerfSource, CountsEverySystemCallOrItsLoss) {
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
    auto source = open_source(options, "syscalls:sys_enter_getppid");
    ASSERT_TRUE(source.ok()) << source.error().message;
    RecordingSink sink;
    (*source)->begin(sink);
    worker.go();
    worker.wait(**source);
    (*source)->finish();
    const std::uint64_t lost = sink.count_of(kFirstTracepoint, TallyName::kLostKernelRing);
    const auto rows = sink.of(Kind::kTracepoint);
    EXPECT_EQ(rows.size() + lost, kCalls);
    EXPECT_EQ(sink.count_of(kFirstTracepoint, TallyName::kProduced), kCalls);
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

TEST(PerfSource, SystemWideStacksReachFromTheKernelToMain) {
    Worker worker([] { burn_cpu(200'000'000); });
    PerfSourceOptions options;
    options.events.all_cpus = true;
    options.events.callchain = true;
    options.events.sampling.frequency_hz = 999;
    auto source = open_source(options, "cpu-clock");
    ASSERT_TRUE(source.ok()) << source.error().message;
    RecordingSink sink;
    (*source)->begin(sink);
    worker.go();
    worker.wait(**source);
    (*source)->finish();
    EXPECT_GT(sink.of(Kind::kSample).size(), 50U);
    for (const auto& sample : sink.of(Kind::kSample)) {
        EXPECT_NE(sample[ColumnId::kPid], static_cast<std::uint64_t>(::getpid()));
    }
}

}  // namespace
}  // namespace perfleet
