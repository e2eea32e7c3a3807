#include "target-collector/source/linux/cgroup_watch.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "target-collector/source/linux/event/perf_attr.h"
#include "target-collector/source/linux/testing/recording_sink.h"
#include "target-collector/source/linux/testing/worker.h"

namespace perfleet::cgroup_watch_test {
namespace {

TEST(CgroupInText, IsTheLongestPathOfTheHierarchies) {
    const std::string id(64, 'c');
    // Version 2 alone.
    EXPECT_EQ(cgroup_in_text("0::/system.slice/nginx.service\n"), "/system.slice/nginx.service");
    EXPECT_EQ(cgroup_in_text("0::/\n"), "/");
    // Version 1, with systemd's hierarchy; version 2 beside it stops at who started the container.
    EXPECT_EQ(cgroup_in_text("12:perf_event:/docker/" + id + "\n3:cpu,cpuacct:/docker/" + id +
                             "\n1:name=systemd:/docker/" + id + "\n0::/system.slice/containerd.service\n"),
              "/docker/" + id);
    EXPECT_EQ(cgroup_in_text("4:memory:/system.slice\n1:name=systemd:/system.slice/cron.service\n0::/\n"),
              "/system.slice/cron.service");
    // A path may hold a colon; a cgroup may be gone.
    EXPECT_EQ(cgroup_in_text("0::/a:/b\n"), "/a:/b");
    EXPECT_EQ(cgroup_in_text("0::/gone.scope (deleted)\n"), "/gone.scope");
    // What is none.
    EXPECT_EQ(cgroup_in_text(""), std::nullopt);
    EXPECT_EQ(cgroup_in_text("no line of it\n12\n:\n"), std::nullopt);
    EXPECT_EQ(cgroup_in_text("0::/" + std::string(5'000, 'x') + "\n"), std::nullopt);
}

TEST(CgroupWatch, ReadsAProcessAgainAfterAWhileAndSoManyASecond) {
    CgroupWatch watch;
    Process process;
    process.pid = static_cast<std::uint32_t>(::getpid());
    std::uint64_t now_ns = 100'000'000'000;
    EXPECT_TRUE(watch.refresh(process, 0, now_ns));
    ASSERT_NE(process.cgroup, nullptr);
    process.cgroup = nullptr;
    EXPECT_FALSE(watch.refresh(process, 0, now_ns + CgroupWatch::kReadAgainNs - 1));
    EXPECT_TRUE(watch.refresh(process, 0, now_ns + CgroupWatch::kReadAgainNs));
    EXPECT_FALSE(watch.refresh(process, 0, now_ns + 3 * CgroupWatch::kReadAgainNs)) << "it is the same";

    now_ns *= 2;
    std::uint32_t read_count = 0;
    for (std::uint32_t i = 0; i < 2 * CgroupWatch::kReadsPerSecondMax; ++i) {
        Process one;
        one.pid = process.pid;
        read_count += watch.refresh(one, 0, now_ns) ? 1 : 0;
    }
    EXPECT_EQ(read_count, CgroupWatch::kReadsPerSecondMax);
    Process later;
    later.pid = process.pid;
    EXPECT_TRUE(watch.refresh(later, 0, now_ns + 1'000'000'000));
}

// A cgroup of version 2, or of a hierarchy of version 1; empty where none can be made.
class OwnCgroup {
public:
    explicit OwnCgroup(const std::string& name) : name_{name} {
        for (const char* root : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}) {
            std::error_code error;
            const std::filesystem::path folder = std::filesystem::path{root} / name;
            if (std::filesystem::exists(std::filesystem::path{root} / "cgroup.procs", error) &&
                std::filesystem::create_directory(folder, error)) {
                folder_ = folder;
                return;
            }
        }
    }
    OwnCgroup(const OwnCgroup&) = delete;
    OwnCgroup& operator=(const OwnCgroup&) = delete;
    ~OwnCgroup() {
        if (!folder_.empty()) {
            ::rmdir(folder_.c_str());
        }
    }
    [[nodiscard]] bool is_there() const { return !folder_.empty(); }
    [[nodiscard]] std::string procs() const { return folder_ / "cgroup.procs"; }
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    std::string name_;
    std::filesystem::path folder_;
};

struct Move {
    std::uint64_t pid = 0;
    std::uint64_t time = 0;
    std::string path;
};

std::vector<Move> moves_in(const RecordingSink& sink) {
    std::map<std::uint64_t, std::string> strings;
    for (const auto& row : sink.of(Kind::kString)) {
        strings[row[ColumnId::kNumber]] = row.bytes.at(ColumnId::kNameBytes);
    }
    std::vector<Move> moves;
    for (const auto& row : sink.of(Kind::kTask)) {
        if (row[ColumnId::kTaskOp] == static_cast<std::uint64_t>(TaskOp::kCgroup)) {
            moves.push_back({row[ColumnId::kPid], row[ColumnId::kTime], strings.at(row[ColumnId::kString])});
        }
    }
    return moves;
}

TEST(CgroupWatch, AProcessThatIsMovedAndRunsAnotherProgramIsInItsNewCgroup) {
    const std::string id = std::to_string(::getpid()) + std::string(64, 'd');
    const OwnCgroup cgroup{"docker-" + id.substr(0, 64) + ".scope"};
    if (!cgroup.is_there()) {
        GTEST_SKIP() << "needs the right to make a cgroup";
    }
    Worker worker([&] {
        burn_cpu(50'000'000);
        std::ofstream{cgroup.procs()} << ::getpid();
        ::execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done", nullptr);
    });
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.frequency_hz = 999;
    const std::uint32_t pid = worker.pid();
    RecordingSink sink;
    const auto source = record(worker, options, "cpu-clock", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;

    const auto moves = moves_in(sink);
    ASSERT_EQ(moves.size(), 2U) << "at first sight, and when it is sampled there or runs another program";
    EXPECT_EQ(moves[0].pid, pid);
    EXPECT_EQ(moves[0].path.find(cgroup.name()), std::string::npos) << moves[0].path;
    EXPECT_EQ(moves[1].pid, pid);
    EXPECT_TRUE(moves[1].path.ends_with("/" + cgroup.name())) << moves[1].path;
}

// As of version 2 where no controller was handed down to it.
TEST(CgroupWatch, TheSamplesCgroupMayBeAboveTheProcesss) {
    const OwnCgroup cgroup{"docker-" + std::to_string(::getpid()) + std::string(64, 'f')};
    if (!cgroup.is_there()) {
        GTEST_SKIP() << "needs the right to make a cgroup";
    }
    const Worker worker([] {});
    std::ofstream{cgroup.procs()} << worker.pid();
    CgroupWatch watch;
    constexpr std::uint64_t kId = 7;
    watch.add(kId, "/");
    Process process;
    process.pid = worker.pid();
    EXPECT_TRUE(watch.refresh(process, kId, 100'000'000'000));
    ASSERT_NE(process.cgroup, nullptr);
    EXPECT_TRUE(process.cgroup->ends_with("/" + cgroup.name())) << *process.cgroup;
}

// Nothing is drained until they and their cgroups are gone.
TEST(CgroupWatch, SamplesOfShortProcessesHaveTheirCgroups) {
    if (const std::string why_not = why_not_as_root(); !why_not.empty()) {
        GTEST_SKIP() << why_not;
    }
    if (!probe_perf_features().cgroups) {
        GTEST_SKIP() << "needs a kernel whose samples name their cgroup: Linux 5.7 with CONFIG_CGROUP_PERF";
    }
    const std::string scope = "docker-" + std::to_string(::getpid()) + std::string(64, 'e');
    if (!OwnCgroup{scope}.is_there()) {
        GTEST_SKIP() << "needs the right to make a cgroup";
    }
    constexpr int kProcesses = 20;
    Worker worker([&] {
        for (int i = 0; i < kProcesses; ++i) {
            const OwnCgroup cgroup{scope + std::to_string(i)};
            const pid_t child = ::fork();
            if (child == 0) {
                std::ofstream{cgroup.procs()} << ::getpid();
                burn_cpu(10'000'000);  // much longer than the move, which a busy machine makes slow
                ::execl("/bin/true", "true", nullptr);
                ::_exit(1);
            }
            ::waitpid(child, nullptr, 0);
        }
    });
    PerfSourceOptions options;
    options.events.all_cpus = true;
    options.events.sampling.frequency_hz = 4'999;
    auto source = open_source(options, "cpu-clock");
    ASSERT_TRUE(source.ok()) << source.error().message;
    RecordingSink sink;
    (*source)->begin(sink);
    worker.go();
    const std::uint32_t parent = worker.pid();
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, parent, &ended, WEXITED | WNOWAIT), 0);
    worker.wait(**source);
    (*source)->finish();

    std::map<std::uint64_t, Move> of_process;
    for (const Move& move : moves_in(sink)) {
        if (move.path.find(scope) != std::string::npos) {
            of_process[move.pid] = move;
        }
    }
    std::set<std::uint64_t> children;
    for (const auto& row : sink.of(Kind::kTask)) {
        if (row[ColumnId::kTaskOp] == static_cast<std::uint64_t>(TaskOp::kFork) &&
            row[ColumnId::kParentPid] == parent) {
            children.insert(row[ColumnId::kPid]);
        }
    }
    std::uint64_t sample_count = 0;
    std::uint64_t right_count = 0;
    for (const auto& sample : sink.of(Kind::kSample)) {
        if (children.contains(sample[ColumnId::kPid])) {
            const auto found = of_process.find(sample[ColumnId::kPid]);
            ++sample_count;
            right_count += found != of_process.end() && found->second.time <= sample[ColumnId::kTime] ? 1 : 0;
        }
    }
    std::printf("%llu of %llu samples in their cgroups\n", static_cast<unsigned long long>(right_count),
                static_cast<unsigned long long>(sample_count));
    EXPECT_GT(sample_count, kProcesses);
    // A process is in its parent's until it has moved.
    EXPECT_GE(right_count * 10, sample_count * 7);
}

}  // namespace
}  // namespace perfleet::cgroup_watch_test
