#include "target-collector/source/linux/probe_programs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/host_clock.h"
#include "target-collector/process/file_contents.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/source/linux/image/image_reader.h"
#include "target-collector/source/linux/testing/recording_sink.h"

namespace perfleet {
namespace probe_programs_test {

constexpr Series kOther{Kind::kTracepoint, EventNumber{0}};

// A child of this program, which is linked with the library of probes.
class Child {
public:
    explicit Child(const std::function<void()>& run) : pid_{::fork()} {
        if (pid_ == 0) {
            run();
            ::_exit(0);
        }
    }
    ~Child() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

private:
    pid_t pid_;
};

void log_pairs() {
    for (;;) {
        PERFLEET_TRACE_START(5);
        PERFLEET_TRACE_STOP(5);
        ::usleep(200);
    }
}

// Of a child, whose addresses are this program's.
perfleet_probe_door door_of(std::uint32_t pid) {
    perfleet_probe_door door{};
    const iovec here{&door, sizeof(door)};
    const iovec there{&perfleet_probe_door_, sizeof(door)};
    EXPECT_EQ(::process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0), static_cast<ssize_t>(sizeof(door)));
    return door;
}

// One collector's.
class Recording {
public:
    explicit Recording(std::uint32_t pid)
        : reader_{{{"other", false, kOther}}, [this](std::string_view text) { log(text); }},
          programs_{reader_,
                    [this](std::uint32_t of_pid, const Mapping& mapping) {
                        const ProcMapping& file = files_.at(mapping.image);
                        const FileDescriptor opened =
                            FileContents::open({of_pid, file.start, file.end, file.path, file.device_major,
                                                file.device_minor, file.inode, std::nullopt, 0});
                        return images_.probe_door(opened.get(), mapping.file_offset);
                    },
                    [this](std::string_view text) { log(text); }} {
        files_ = proc_mappings(pid);
        MappingList mappings;
        for (ImageIndex i = 0; i < files_.size(); ++i) {
            mappings.add({files_[i].start, files_[i].end, files_[i].file_offset, i, files_[i].protection, 0});
        }
        table_.set_mappings(pid, std::move(mappings));
        programs_.note(pid);
    }

    // Until it is so; gives up after a time that no machine takes.
    bool work_until(const std::function<bool()>& is_so) {
        const std::uint64_t give_up_ns = monotonic_now_ns() + 30'000'000'000;
        while (!is_so() && monotonic_now_ns() < give_up_ns) {
            programs_.visit(table_, monotonic_now_ns());
            reader_.drain(~0ULL, monotonic_now_ns(), sink_);
            ::usleep(1'000);
        }
        return is_so();
    }
    void note_end(std::uint32_t pid) {
        table_.forget(pid);
        programs_.note(pid);
    }
    void end() {
        programs_.close();
        reader_.finish(monotonic_now_ns(), sink_);
    }

    [[nodiscard]] std::size_t row_count() const { return sink_.rows.size(); }
    [[nodiscard]] std::uint64_t malformed() { return sink_.counts[{kOther, CountName::kLostMalformed}]; }
    [[nodiscard]] const std::string& logged() const { return logged_; }
    ProbePrograms& programs() { return programs_; }

private:
    void log(std::string_view text) { logged_ += std::string{text} + "\n"; }

    DirectImageReader images_;
    std::vector<ProcMapping> files_;
    std::string logged_;
    RecordingSink sink_;
    ProbeReader reader_;
    ProcessTable table_;
    ProbePrograms programs_;
};

TEST(ProbePrograms, OneThatRunsAlreadyIsRecordedAndSwitchedOffAgain) {
    const Child child{log_pairs};
    Recording first{child.pid()};
    ASSERT_TRUE(first.work_until([&] { return first.row_count() >= 20; })) << first.logged();
    EXPECT_EQ(first.programs().area_count(), 1U);
    EXPECT_EQ(door_of(child.pid()).is_on, 1U);
    first.end();
    EXPECT_EQ(door_of(child.pid()).is_on, 0U);
    EXPECT_EQ(first.malformed(), 0U);
    // The next collector takes the same memory, without what is of the time between.
    Recording second{child.pid()};
    ASSERT_TRUE(second.work_until([&] { return second.row_count() >= 20; })) << second.logged();
    second.end();
    EXPECT_EQ(second.malformed(), 0U);
}

TEST(ProbePrograms, ThatHaveEndedLeaveNothing) {
    const Child child{[] {
        for (int i = 0; i < 2'000; ++i) {
            PERFLEET_TRACE_START(5);
            PERFLEET_TRACE_STOP(5);
            ::usleep(500);
        }
    }};
    Recording recording{child.pid()};
    ASSERT_TRUE(recording.work_until([&] { return recording.row_count() > 0; })) << recording.logged();
    ::waitpid(static_cast<pid_t>(child.pid()), nullptr, 0);
    std::size_t count = 0;
    recording.work_until([&] {
        count = recording.row_count();
        return count > 100;
    });
    EXPECT_EQ(recording.programs().area_count(), 1U);
    recording.note_end(child.pid());
    EXPECT_TRUE(recording.work_until([&] { return recording.programs().area_count() == 0; }));
    recording.end();
    EXPECT_GE(recording.row_count(), count);
    EXPECT_EQ(recording.malformed(), 0U);
}

// The memory is made by a system call, at which the program might end.
TEST(ProbePrograms, OneThatFiltersSystemCallsIsLeftAlone) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const Child child{[&ready] {
        sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
        const sock_fprog filter{1, &allow};
        if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
            ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) {
            (void)!::write(ready[1], "r", 1);
            log_pairs();
        }
    }};
    ::close(ready[1]);
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1) << "a kernel without seccomp";
    ::close(ready[0]);
    Recording recording{child.pid()};
    EXPECT_TRUE(recording.work_until([&] { return !recording.logged().empty(); }));
    recording.end();
    EXPECT_NE(recording.logged().find("filters system calls (seccomp)"), std::string::npos) << recording.logged();
    EXPECT_EQ(door_of(child.pid()).is_on, 0U);
    EXPECT_EQ(recording.row_count(), 0U);
}

// Its descriptor says something else than the memory.
void lie(int (*make_fd)()) {
    perfleet_probe_door_.area_fd = make_fd();
    for (;;) {
        ::pause();
    }
}

TEST(ProbePrograms, MemoryThatCouldBeShortenedIsRefused) {
    const auto refused = [](int (*make_fd)()) {
        const Child child{[make_fd] { lie(make_fd); }};
        Recording recording{child.pid()};
        EXPECT_TRUE(recording.work_until([&] { return !recording.logged().empty(); }));
        recording.end();
        EXPECT_EQ(recording.row_count(), 0U);
        return recording.logged();
    };
    EXPECT_NE(refused([] { return ::open("/dev/null", O_RDWR); }).find("isn't that memory"), std::string::npos);
    EXPECT_NE(refused([] { return 9'999; }).find("Bad file descriptor"), std::string::npos);
    const auto unsealed = [] {
        const int file = ::memfd_create("perfleet-probes", MFD_ALLOW_SEALING);
        return ::ftruncate(file, PERFLEET_PROBE_AREA_SIZE) == 0 ? file : -1;
    };
    EXPECT_NE(refused(unsealed).find("isn't that memory"), std::string::npos);
    const auto without_magic = [] {
        const int file = ::memfd_create("perfleet-probes", MFD_ALLOW_SEALING);
        const bool is_made = ::ftruncate(file, PERFLEET_PROBE_AREA_SIZE) == 0 &&
                             ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
        return is_made ? file : -1;
    };
    EXPECT_NE(refused(without_magic).find("another version"), std::string::npos);
}

TEST(ProbeDoor, IsFoundBehindTheCodeOfItsFile) {
    DirectImageReader images;
    bool is_found = false;
    for (const ProcMapping& mapping : proc_mappings(static_cast<std::uint32_t>(::getpid()))) {
        const FileDescriptor file =
            FileContents::open({static_cast<std::uint32_t>(::getpid()), mapping.start, mapping.end, mapping.path,
                                mapping.device_major, mapping.device_minor, mapping.inode, std::nullopt, 0});
        const auto place = images.probe_door(file.get(), mapping.file_offset);
        is_found = is_found || (place && mapping.start + place->distance ==
                                             reinterpret_cast<std::uintptr_t>(&perfleet_probe_door_));
    }
    EXPECT_TRUE(is_found);
    EXPECT_FALSE(images.probe_door(-1, 0));
    const FileDescriptor shell{::open("/bin/sh", O_RDONLY | O_CLOEXEC)};
    EXPECT_FALSE(images.probe_door(shell.get(), 0x4000));
}

}  // namespace probe_programs_test
}  // namespace perfleet
