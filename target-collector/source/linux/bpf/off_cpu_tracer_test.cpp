// Time off the CPU, compared with the kernel's own count.
#include "target-collector/source/linux/bpf/off_cpu_tracer.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "target-collector/source/linux/testing/recording_sink.h"
#include "target-collector/source/linux/testing/worker.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kPeriodNs = 1'000'000;
constexpr Series kBlocked{Kind::kSample, EventNumber{1}};
constexpr Series kRunnable{Kind::kSample, EventNumber{2}};
constexpr Series kWakers{Kind::kSample, EventNumber{3}};

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000) + static_cast<std::uint64_t>(time.tv_nsec);
}

void sleep_ms(long duration_ms) {
    const timespec time{duration_ms / 1000, duration_ms % 1000 * 1'000'000};
    ::nanosleep(&time, nullptr);
}

void stay_on_cpu_0() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    ::sched_setaffinity(0, sizeof(cpus), &cpus);
}

void spin_ms(std::uint64_t duration_ms) {
    for (const std::uint64_t end = now_ns() + (duration_ms * 1'000'000); now_ns() < end;) {
        burn_cpu(1'000);
    }
}

// Two threads that wake each other for so long.
void ping_pong_ms(std::uint64_t duration_ms) {
    int there[2];
    int back[2];
    (void)!::pipe(there);
    (void)!::pipe(back);
    std::thread other([&] {
        ::pthread_setname_np(::pthread_self(), "ponger");
        for (char byte = 0; ::read(there[0], &byte, 1) == 1 && byte != 'e';) {
            (void)!::write(back[1], "b", 1);
        }
    });
    char byte = 0;
    for (const std::uint64_t end = now_ns() + (duration_ms * 1'000'000); now_ns() < end;) {
        (void)!::write(there[1], "t", 1);
        (void)!::read(back[0], &byte, 1);
    }
    (void)!::write(there[1], "e", 1);
    other.join();
}

// Runnable without a CPU until now, as the kernel counts it of the calling thread: all of it, for it has its CPU.
std::uint64_t own_run_delay_ns() {
    std::uint64_t run_delay_ns = 0;
    if (std::FILE* const file = std::fopen("/proc/thread-self/schedstat", "r")) {
        (void)!std::fscanf(file, "%*u %lu", &run_delay_ns);
        std::fclose(file);
    }
    return run_delay_ns;
}

// Spins beside others that do, then sleeps.
class CrowdedCpu {
public:
    struct RunDelays {
        std::uint64_t spinning_ns = 0;  // while it spun
        std::uint64_t all_ns = 0;       // from its begin to its end
    };

    explicit CrowdedCpu(unsigned spinner_count) : spinners_(spinner_count) { (void)!::pipe(pipe_fds_); }
    ~CrowdedCpu() { ::close(pipe_fds_[0]); }
    CrowdedCpu(const CrowdedCpu&) = delete;
    CrowdedCpu& operator=(const CrowdedCpu&) = delete;

    void work() const {
        RunDelays delays;
        const std::uint64_t before_ns = own_run_delay_ns();
        stay_on_cpu_0();
        spin_ms(600);
        delays.spinning_ns = own_run_delay_ns() - before_ns;
        sleep_ms(300);
        delays.all_ns = own_run_delay_ns();
        (void)!::write(pipe_fds_[1], &delays, sizeof(delays));
    }
    void start_spinners() {
        for (pid_t& spinner : spinners_) {
            spinner = ::fork();
            if (spinner == 0) {
                stay_on_cpu_0();
                spin_ms(700);
                ::_exit(0);
            }
        }
    }
    // Of the worker, which has ended.
    RunDelays end() {
        for (const pid_t spinner : spinners_) {
            ::waitpid(spinner, nullptr, 0);
        }
        ::close(pipe_fds_[1]);  // where the worker has failed there is nothing to read
        RunDelays delays;
        EXPECT_EQ(::read(pipe_fds_[0], &delays, sizeof(delays)), static_cast<ssize_t>(sizeof(delays)));
        return delays;
    }

private:
    int pipe_fds_[2]{-1, -1};
    std::vector<pid_t> spinners_;
};

class OffCpuTracerTest : public testing::Test {
protected:
    void SetUp() override {
        auto unwinder = KernelUnwinder::open({});
        if (!unwinder.ok()) {
            GTEST_SKIP() << unwinder.error().message;
        }
        OffCpuTracer::Options options;
        options.is_by_kprobe = is_by_kprobe_;
        if (const auto tracer = OffCpuTracer::open(**unwinder, options); !tracer.ok()) {
            GTEST_SKIP() << tracer.error().message;
        }
    }

    void follow(const std::function<void()>& work, const std::function<void()>& beside = nullptr) {
        Worker worker(work);
        pid_ = worker.pid();
        PerfSourceOptions options;
        options.events.pids = {worker.pid()};
        options.events.sampling.frequency_hz = 997;
        options.events.callchain = true;
        options.events.user_stack_bytes = 32'768;
        options.off_cpu_period_ns = kPeriodNs;
        if (is_by_bpf_) {
            auto unwinder = KernelUnwinder::open({});
            ASSERT_TRUE(unwinder.ok()) << unwinder.error().message;
            options.kernel_unwinder = std::move(*unwinder);
        }
        options.off_cpu_by_kprobe = is_by_kprobe_;
        auto source = open_source(options, "cpu-clock", &logged_);
        ASSERT_TRUE(source.ok()) << source.error().message;
        const std::uint64_t began_ns = now_ns();
        (*source)->begin(sink_);
        worker.go();
        if (beside) {
            beside();
        }
        worker.wait(**source);
        (*source)->finish();
        elapsed_ns_ = now_ns() - began_ns;
    }

    [[nodiscard]] std::vector<RecordingSink::Row> rows(Series series) const {
        std::vector<RecordingSink::Row> found;
        for (const auto& row : sink_.rows) {
            if (row.series == series) {
                found.push_back(row);
            }
        }
        return found;
    }
    [[nodiscard]] std::uint64_t sum_ns(Series series, std::uint64_t tid = 0) const {
        std::uint64_t sum = 0;
        for (const auto& row : rows(series)) {
            sum += tid == 0 || row[ColumnId::kTid] == tid ? row[ColumnId::kWeight] : 0;
        }
        return sum;
    }
    [[nodiscard]] std::uint32_t depth(std::uint64_t stack) const {
        std::map<std::uint64_t, std::uint64_t> parents;
        std::uint64_t number = 0;
        for (const auto& row : sink_.rows) {
            if (row.series.kind == Kind::kStack) {
                parents[++number] = row[ColumnId::kParent];
            }
        }
        std::uint32_t count = 0;
        for (; stack != 0; stack = parents[stack]) {
            ++count;
        }
        return count;
    }

    bool is_by_bpf_ = true;
    bool is_by_kprobe_ = false;
    std::vector<std::string> logged_;
    RecordingSink sink_;
    std::uint64_t elapsed_ns_ = 0;
    std::uint32_t pid_ = 0;
};

// By the kernel's switches, as where no BPF program may be loaded.
class OffCpuWithoutBpfTest : public OffCpuTracerTest {
protected:
    void SetUp() override { is_by_bpf_ = false; }
};

// As on AArch64 before Linux 6.4, which has neither the tracepoint nor fexit.
class OffCpuByKprobeTest : public OffCpuTracerTest {
protected:
    void SetUp() override {
        is_by_kprobe_ = true;
        OffCpuTracerTest::SetUp();
    }
};

TEST_F(OffCpuByKprobeTest, SleepIsBlockedAndSomebodyWakes) {
    follow([] { sleep_ms(300); });
    EXPECT_GE(sum_ns(kBlocked) + (2 * kPeriodNs), 300'000'000U);
    const auto blocked = rows(kBlocked);
    EXPECT_TRUE(std::any_of(blocked.begin(), blocked.end(), [&](const auto& row) {
        return row[ColumnId::kWeight] > 290'000'000 && depth(row[ColumnId::kStack]) > 8;
    }));
    EXPECT_EQ(sum_ns(kWakers), sum_ns(kBlocked));
}

// A kernel that can unwind by BPF, and can't follow threads by it.
TEST_F(OffCpuWithoutBpfTest, IsWhatRemainsWhereItsProgramsCannotRun) {
    auto unwinder = KernelUnwinder::open({});
    OffCpuTracer::Options options;
    options.is_by_kprobe = true;
    if (!unwinder.ok() || OffCpuTracer::open(**unwinder, options).ok()) {
        GTEST_SKIP() << "this kernel has no BPF, or has kprobes";
    }
    is_by_bpf_ = true;
    is_by_kprobe_ = true;
    follow([] { sleep_ms(300); });
    ASSERT_EQ(logged_.size(), 1U);
    EXPECT_NE(logged_.front().find("--off-cpu without BPF"), std::string::npos) << logged_.front();
    EXPECT_GE(sum_ns(kBlocked) + (2 * kPeriodNs), 300'000'000U);
    EXPECT_EQ(sum_ns(kWakers), 0U) << "nobody tells";
    const auto blocked = rows(kBlocked);
    EXPECT_TRUE(
        std::any_of(blocked.begin(), blocked.end(), [&](const auto& row) { return depth(row[ColumnId::kStack]) > 8; }));
}

TEST_F(OffCpuWithoutBpfTest, SleepIsBlocked) {
    follow([] {
        for (int i = 0; i < 5; ++i) {
            sleep_ms(100);
        }
    });
    const auto blocked = rows(kBlocked);
    EXPECT_GE(sum_ns(kBlocked) + (2 * kPeriodNs), 500'000'000U);
    EXPECT_LE(sum_ns(kBlocked), elapsed_ns_ + kPeriodNs);
    EXPECT_TRUE(std::any_of(blocked.begin(), blocked.end(), [&](const auto& row) {
        return row[ColumnId::kWeight] > 90'000'000 && depth(row[ColumnId::kStack]) > 8;
    }));
    EXPECT_EQ(sum_ns(kWakers), 0U) << "nobody tells";
    EXPECT_EQ(sink_.count_of(kBlocked, CountName::kLostKernelRing), 0U);
    EXPECT_EQ(sink_.count_of(kBlocked, CountName::kLostMalformed), 0U);
}

TEST_F(OffCpuWithoutBpfTest, ATimeWithoutTheCpuThatWasTakenIsRunnable) {
    CrowdedCpu cpu{1};
    follow([&] { cpu.work(); }, [&] { cpu.start_spinners(); });
    const std::uint64_t run_delay_ns = cpu.end().spinning_ns;
    EXPECT_GT(run_delay_ns, 100'000'000U);
    EXPECT_LT(sum_ns(kRunnable) * 8, run_delay_ns * 10);
    constexpr std::uint64_t kSleptNs = 300'000'000;
    EXPECT_GE(sum_ns(kBlocked) + (2 * kPeriodNs), kSleptNs);
    // A wait after a block counts as blocked, and is long on a busy machine.
    const std::uint64_t woken_ns = std::max(sum_ns(kBlocked), kSleptNs) - kSleptNs;
    EXPECT_GT((sum_ns(kRunnable) + woken_ns) * 10, run_delay_ns * 8);
}

TEST_F(OffCpuTracerTest, SleepIsBlocked) {
    follow([] {
        for (int i = 0; i < 5; ++i) {
            sleep_ms(100);
        }
    });
    const auto blocked = rows(kBlocked);
    EXPECT_GE(sum_ns(kBlocked) + (2 * kPeriodNs), 500'000'000U);
    EXPECT_LE(sum_ns(kBlocked), elapsed_ns_ + kPeriodNs);
    // Whichever of these is shown: five times from the same place, from nanosleep() in the kernel to the thread's
    // start.
    std::map<std::uint64_t, int> count_by_stack;
    for (const auto& row : blocked) {
        count_by_stack[row[ColumnId::kStack]] += row[ColumnId::kWeight] > 90'000'000 ? 1 : 0;
    }
    EXPECT_TRUE(std::any_of(count_by_stack.begin(), count_by_stack.end(),
                            [&](const auto& one) { return one.second >= 3 && depth(one.first) > 8; }));
    EXPECT_EQ(sum_ns(kWakers), sum_ns(kBlocked));
    EXPECT_EQ(sink_.count_of(kBlocked, CountName::kLostKernelRing), 0U);
    EXPECT_EQ(sink_.count_of(kBlocked, CountName::kLostMalformed), 0U);
    EXPECT_EQ(sink_.count_of(kBlocked, CountName::kFramesUnmapped), 0U) << "the kernel's part is the kernel's";
}

// Blocks far below the period: their sum is there, for a hundredth of the rows.
TEST_F(OffCpuTracerTest, ShortBlocksSumToTheTimeOffTheCpu) {
    follow([] { ping_pong_ms(600); });
    const std::uint64_t off_ns = sum_ns(kBlocked, pid_) + sum_ns(kRunnable, pid_);
    const std::uint64_t samples_ns = rows({Kind::kSample, EventNumber{0}}).size() * 1'000'000'000 / 997;
    std::printf("off the CPU %.1f ms blocked, %.1f runnable; %zu and %zu rows; on it about %.1f ms of both threads\n",
                static_cast<double>(sum_ns(kBlocked, pid_)) / 1e6, static_cast<double>(sum_ns(kRunnable, pid_)) / 1e6,
                rows(kBlocked).size(), rows(kRunnable).size(), static_cast<double>(samples_ns) / 1e6);
    EXPECT_LE(off_ns, elapsed_ns_ + (3 * kPeriodNs));
    EXPECT_GT(off_ns + samples_ns, 500'000'000U);
    EXPECT_LT(rows(kBlocked).size(), 2'000U);
    std::set<std::string> wakers;
    for (const auto& row : sink_.rows) {
        if (row.series.kind == Kind::kImage) {
            wakers.insert(row.bytes.at(ColumnId::kNameBytes));
        }
    }
    EXPECT_TRUE(wakers.contains("ponger")) << "who woke the first thread";
}

// What the kernel counts as run_delay.
TEST_F(OffCpuTracerTest, RunnableTimeIsTheKernelsRunDelay) {
    CrowdedCpu cpu{2};
    follow([&] { cpu.work(); }, [&] { cpu.start_spinners(); });
    const std::uint64_t run_delay_ns = cpu.end().all_ns;
    std::printf("runnable %.1f ms, run_delay %.1f ms\n", static_cast<double>(sum_ns(kRunnable)) / 1e6,
                static_cast<double>(run_delay_ns) / 1e6);
    EXPECT_GT(run_delay_ns, 100'000'000U);
    EXPECT_GT(sum_ns(kRunnable) * 10, run_delay_ns * 8);
    EXPECT_LT(sum_ns(kRunnable) * 8, run_delay_ns * 10);
}

TEST_F(OffCpuTracerTest, ContendedMutexIsBlockedInTheKernelsFutex) {
    follow([] {
        std::mutex mutex;
        const auto hold = [&] {
            for (int i = 0; i < 20; ++i) {
                const std::lock_guard lock{mutex};
                sleep_ms(5);
            }
        };
        std::thread other(hold);
        hold();
        other.join();
    });
    // Both sleep 100 ms, and one waits while the other sleeps.
    EXPECT_GT(sum_ns(kBlocked), 250'000'000U);
    EXPECT_LT(sum_ns(kBlocked), 2 * elapsed_ns_);
}

TEST_F(OffCpuTracerTest, ForkedProcessesAreFollowedAndNoOthers) {
    std::uint64_t child = 0;
    int pipe_fds[2];
    ASSERT_EQ(::pipe(pipe_fds), 0);
    const pid_t stranger = ::fork();
    if (stranger == 0) {
        for (int i = 0; i < 20; ++i) {
            sleep_ms(20);
        }
        ::_exit(0);
    }
    follow([&] {
        const pid_t forked = ::fork();
        if (forked == 0) {
            sleep_ms(150);
            ::_exit(0);
        }
        (void)!::write(pipe_fds[1], &forked, sizeof(forked));
        ::waitpid(forked, nullptr, 0);
    });
    pid_t reported = 0;
    ASSERT_EQ(::read(pipe_fds[0], &reported, sizeof(reported)), static_cast<ssize_t>(sizeof(reported)));
    child = static_cast<std::uint64_t>(reported);
    EXPECT_GT(sum_ns(kBlocked, child), 140'000'000U);
    EXPECT_GT(sum_ns(kBlocked, pid_), 140'000'000U) << "it waits for its child";
    EXPECT_EQ(sum_ns(kBlocked, static_cast<std::uint64_t>(stranger)), 0U);
    ::waitpid(stranger, nullptr, 0);
}

}  // namespace
}  // namespace perfleet
