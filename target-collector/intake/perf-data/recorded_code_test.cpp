#include "target-collector/intake/perf-data/recorded_code.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/host/host_clock.h"
#include "schemas/vocabulary/kinds.h"
#include "target-collector/process/proc_reader.h"

namespace perfleet::recorded_code_test {
namespace {

constexpr std::uint32_t kPid = 4'194'290;  // of no process
constexpr UtcNs kStart{1'700'000'040'000'000'000};
constexpr UtcNs kEnd{1'700'000'100'000'000'000};

class RecordedCodeTest : public testing::Test {
protected:
    RecordedCodeTest() {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directory(folder_);
    }
    ~RecordedCodeTest() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path() const { return folder_ + "/perf-" + std::to_string(kPid) + ".map"; }
    void write(const std::string& text, std::int64_t written_s = kEnd.value / kNsPerSecond - 50) const {
        std::ofstream{path()} << text;
        const timespec times[]{{written_s, 0}, {written_s, 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, path().c_str(), times, 0), 0);
    }
    // The name of a frame at 0x7010 in memory without a file.
    [[nodiscard]] std::string name_of_frame(RecordedCode& code, std::uint32_t pid = kPid) {
        const auto memory = table_.intern({"//anon", image_flags::kAnonymous, 0x7000, 0, {}});
        const auto stack = std::make_unique<ResolvedStack>();
        stack->frames[0] = {*memory, 0x10};
        stack->frame_count = 1;
        code.name_frames(pid, *stack);
        return table_.at(stack->frames[0].image).name + "+" + std::to_string(stack->frames[0].offset);
    }
    [[nodiscard]] RecordedCode code(bool is_own_host = true) { return {table_, is_own_host, {kStart, kEnd}, folder_}; }

    std::string folder_ = testing::TempDir() + "recorded_code_" + std::to_string(::getpid());
    ImageTable table_;
};

TEST_F(RecordedCodeTest, NamesAreThoseOfTheProcessesFile) {
    write("7008 20 js:work\n8000 10 other\n");
    RecordedCode own = code();
    EXPECT_EQ(name_of_frame(own), "js:work+8");
    EXPECT_TRUE(own.warnings().empty());
    RecordedCode other = code(false);
    EXPECT_EQ(name_of_frame(other), "//anon+16");
}

TEST_F(RecordedCodeTest, OfFunctionsAtOneAddressTheLastIsTaken) {
    write("7000 20 first\n7008 20 last\n");
    RecordedCode own = code();
    EXPECT_EQ(name_of_frame(own), "last+8");
    ASSERT_EQ(own.warnings().size(), 1U);
    EXPECT_NE(own.warnings()[0].find(".map has 1 function "), std::string::npos) << own.warnings()[0];
}

TEST_F(RecordedCodeTest, AFileOfAnotherTimeIsOfAnotherProcess) {
    const std::int64_t end_s = kEnd.value / kNsPerSecond;
    write("7000 20 later\n", end_s + 60);
    RecordedCode after = code();
    EXPECT_EQ(name_of_frame(after), "//anon+16");
    write("7000 20 earlier\n", end_s - 50);
    RecordedCode before = code();
    before.note_fork(kPid, 1, UtcNs{(end_s - 30) * kNsPerSecond});
    EXPECT_EQ(name_of_frame(before), "//anon+16");
    RecordedCode since = code();
    since.note_fork(kPid, 1, UtcNs{(end_s - 55) * kNsPerSecond});
    EXPECT_EQ(name_of_frame(since), "earlier+16");
    write("7000 20 old\n", end_s - 90);
    RecordedCode old = code();
    EXPECT_EQ(name_of_frame(old), "//anon+16") << "older than the recording, of a process that is gone";
}

TEST_F(RecordedCodeTest, ForkedProcessesHaveTheirParentsNames) {
    write("7000 20 of_the_parent\n");
    RecordedCode own = code();
    own.note_fork(kPid + 1, kPid, UtcNs{kEnd.value - 40 * kNsPerSecond});
    own.note_fork(kPid + 2, kPid + 1, UtcNs{kEnd.value - 30 * kNsPerSecond});
    EXPECT_EQ(own.pid_of_map(kPid + 2), kPid);
    EXPECT_EQ(name_of_frame(own, kPid + 2), "of_the_parent+16");
    EXPECT_EQ(own.pid_of_map(kPid + 3), 0U);
}

// The process has another file system at the folder, and the number 1.
TEST_F(RecordedCodeTest, AProcessInAContainerHasItsOwnFile) {
    const std::string command = "unshare --mount --pid --fork sh -c 'mount -t tmpfs none " + folder_ +
                                " && echo 7000 20 contained > " + folder_ +
                                "/perf-1.map && echo here && exec sleep 60'";
    const std::unique_ptr<FILE, int (*)(FILE*)> said{::popen((command + " 2>/dev/null & echo $!; wait").c_str(), "r"),
                                                     ::pclose};
    std::uint32_t unshare = 0;
    char here[8] = "";
    if (std::fscanf(said.get(), "%u %7s", &unshare, here) != 2 || std::string_view{here} != "here") {
        GTEST_SKIP() << "namespaces can't be made here";
    }
    const std::vector<std::uint32_t> family = proc_with_descendants({unshare});
    ASSERT_EQ(family.size(), 2U);
    const UtcNs now = utc_now();
    RecordedCode own{table_, true, {now, now}, folder_};
    EXPECT_EQ(name_of_frame(own, family[1]), "contained+16");
    ::kill(static_cast<pid_t>(family[1]), SIGKILL);
}

TEST_F(RecordedCodeTest, LinksAndWhatIsNoFileArentRead) {
    write("7000 20 linked\n");
    std::filesystem::rename(path(), folder_ + "/elsewhere");
    std::filesystem::create_symlink(folder_ + "/elsewhere", path());
    RecordedCode of_link = code();
    EXPECT_EQ(name_of_frame(of_link), "//anon+16");
    std::filesystem::remove(path());
    ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
    RecordedCode of_pipe = code();
    EXPECT_EQ(name_of_frame(of_pipe), "//anon+16");
}

}  // namespace
}  // namespace perfleet::recorded_code_test
