#include "target-collector/source/linux/cgroup_watch.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

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
    EXPECT_TRUE(watch.refresh(process, now_ns));
    ASSERT_NE(process.cgroup, nullptr);
    process.cgroup = nullptr;
    EXPECT_FALSE(watch.refresh(process, now_ns + CgroupWatch::kReadAgainNs - 1));
    EXPECT_TRUE(watch.refresh(process, now_ns + CgroupWatch::kReadAgainNs));
    EXPECT_FALSE(watch.refresh(process, now_ns + 3 * CgroupWatch::kReadAgainNs)) << "it is the same";

    now_ns *= 2;
    std::uint32_t read_count = 0;
    for (std::uint32_t i = 0; i < 2 * CgroupWatch::kReadsPerSecondMax; ++i) {
        Process one;
        one.pid = process.pid;
        read_count += watch.refresh(one, now_ns) ? 1 : 0;
    }
    EXPECT_EQ(read_count, CgroupWatch::kReadsPerSecondMax);
    Process later;
    later.pid = process.pid;
    EXPECT_TRUE(watch.refresh(later, now_ns + 1'000'000'000));
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

    std::map<std::uint64_t, std::string> strings;
    for (const auto& row : sink.of(Kind::kString)) {
        strings[row[ColumnId::kNumber]] = row.bytes.at(ColumnId::kNameBytes);
    }
    std::vector<std::string> paths;
    std::uint64_t moved_at = 0;
    std::uint64_t exec_at = 0;
    for (const auto& row : sink.of(Kind::kTask)) {
        if (row[ColumnId::kTaskOp] == static_cast<std::uint64_t>(TaskOp::kCgroup)) {
            EXPECT_EQ(row[ColumnId::kPid], pid);
            paths.push_back(strings.at(row[ColumnId::kString]));
            moved_at = row[ColumnId::kTime];
        } else if (row[ColumnId::kTaskOp] == static_cast<std::uint64_t>(TaskOp::kExec)) {
            exec_at = row[ColumnId::kTime];
        }
    }
    ASSERT_EQ(paths.size(), 2U) << "at first sight, and when it runs another program";
    EXPECT_EQ(paths[0].find(cgroup.name()), std::string::npos) << paths[0];
    EXPECT_TRUE(paths[1].ends_with("/" + cgroup.name())) << paths[1];
    EXPECT_GT(exec_at, 0U);
    EXPECT_GE(moved_at, exec_at);
}

}  // namespace
}  // namespace perfleet::cgroup_watch_test
