// `perfleet record` under bad conditions: no standard descriptors, no space, no home, a closed terminal.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/pseudo_terminal.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::record_program_test {
namespace {

std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

class RecordProgram : public testing::Test {
protected:
    // `perfleet record ARGUMENTS` in a shell, with what follows it: redirections, limits before it.
    [[nodiscard]] Finished record(const std::string& arguments, const std::string& before = "") const {
        return run({"sh", "-c", before + " exec '" + program_path("perfleet") + "' record " + arguments});
    }

    // The one session of the folder has sent its Bye, and every row is accounted for.
    void expect_exact() const {
        const auto ledgers = ledgers_of(data_);
        ASSERT_EQ(ledgers.size(), 1U);
        ledgers.front().expect_exact();
    }

    // Text in the folder's files that aren't meant to be read by people.
    void expect_nothing_said_within(const std::string& words) const {
        std::size_t file_count = 0;
        for (const auto& entry : std::filesystem::directory_iterator{data_}) {
            if (entry.is_regular_file()) {
                ++file_count;
                EXPECT_EQ(text_of(entry.path()).find(words), std::string::npos) << entry.path();
            }
        }
        EXPECT_GT(file_count, 0U);
        EXPECT_EQ(text_of(data_ + "/LOCK"), "");
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
};

TEST_F(RecordProgram, WithoutStandardDescriptorsWritesNoMessageIntoTheStore) {
    const Finished finished = record("--data '" + data_ + "' -e cpu-clock -- true 0>&- 1>&- 2>&-");
    EXPECT_EQ(finished.ending.status, 0) << "it is stored, though nobody reads what is said";
    expect_nothing_said_within("perfleet record: ");
    expect_exact();
}

TEST_F(RecordProgram, TheGatewayWithoutStandardDescriptorsDoesntEither) {
    const std::string socket = folder_ / "socket";
    Process gateway({"sh", "-c",
                     "exec '" + program_path("perfleet-gateway") + "' --data '" + data_ + "' --listen 'ipc://" +
                         socket + "' --query none 0>&- 1>&- 2>&-"});
    const Finished collected = run({program_path("perfleet-collector"), "--gateway", "ipc://" + socket, "-e",
                                    "cpu-clock", "--exit-wait", "60", "--", "true"});
    EXPECT_EQ(collected.ending.status, 0) << collected.error_output;
    gateway.send_signal(SIGTERM);
    EXPECT_TRUE(gateway.wait().has_value());
    expect_nothing_said_within("ready listen=");
}

// A container's, by default. The bounding set takes the rights from programs that root starts.
TEST_F(RecordProgram, RootWithoutRightsSamplesItsOwnProgramsInUserSpace) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root";
    }
    std::vector<std::string> words{"setpriv", "--bounding-set=-perfmon,-sys_admin,-bpf,-sys_ptrace,-syslog",
                                   "--inh-caps=-perfmon,-sys_admin,-bpf,-sys_ptrace,-syslog"};
    words.insert(words.end(), {program_path("perfleet"), "record", "-e", "cpu-clock", "--data", data_, "--",
                               workload_path("shares_workload"), "0.5"});
    const Finished finished = run(words);
    EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    EXPECT_NE(finished.error_output.find("user space only"), std::string::npos) << finished.error_output;
    EXPECT_NE(finished.error_output.find("root lacks CAP_PERFMON here"), std::string::npos) << finished.error_output;
    EXPECT_NE(finished.error_output.find("work_a"), std::string::npos) << finished.error_output;
}

TEST_F(RecordProgram, StandardOutputIsTheCommandsAlone) {
    const std::string text = folder_ / "text";
    const std::string packed = folder_ / "text.gz";
    std::ofstream{text} << std::string(1'000'000, 'x');
    const Finished finished =
        record("--data '" + data_ + "' -g -e cpu-clock -- gzip -c '" + text + "' > '" + packed + "'");
    EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    // What was kept and lost, the next command to type, the path of the data.
    const std::string& said = finished.error_output;
    EXPECT_TRUE(std::regex_search(said, std::regex{R"(\nrows: \d+ produced, all stored\nNext: perfleet export [^\n]+\n)"
                                                   R"(Stored: session [0-9a-f]{8} in [^\n]+\n$)"}))
        << said;
    // Rows of all kinds, and the samples that the ledger below the table counts.
    std::smatch summary;
    ASSERT_TRUE(std::regex_search(said, summary, std::regex{R"((\d+) rows, (\d+) of them samples, \d+ lost)"})) << said;
    EXPECT_GT(std::stoull(summary[1]), std::stoull(summary[2])) << said;
    EXPECT_NE(said.find("\nrows: " + summary[2].str() + " produced"), std::string::npos) << said;
    const Finished unpacked = run({"gzip", "-dc", packed});
    EXPECT_EQ(unpacked.ending.status, 0) << unpacked.error_output;
    EXPECT_EQ(unpacked.output, text_of(text));

    const Finished full = record("--data '" + data_ + "' -e cpu-clock -- true >/dev/full");
    EXPECT_EQ(full.ending.status, 0) << full.error_output;
}

// Each query would read the log again.
TEST_F(RecordProgram, AndAGatewayLeaveAnEmptyLog) {
    const auto log_size_bytes = [this] {
        std::uintmax_t size_bytes = 0;
        for (const auto& entry : std::filesystem::directory_iterator{data_}) {
            size_bytes += entry.path().extension() == ".log" ? entry.file_size() : 0;
        }
        return size_bytes;
    };
    ASSERT_EQ(record("-q --data '" + data_ + "' -e cpu-clock -- true").ending.status, 0);
    EXPECT_EQ(log_size_bytes(), 0U);
    GatewayProgram gateway{data_};
    ASSERT_EQ(run({program_path("perfleet-collector"), "--gateway", gateway.listen(), "-e", "cpu-clock", "--", "true"})
                  .ending.status,
              0);
    EXPECT_NE(log_size_bytes(), 0U);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    EXPECT_EQ(log_size_bytes(), 0U);
    EXPECT_EQ(ledgers_of(data_).size(), 2U);
}

TEST_F(RecordProgram, QuietPrintsErrorsOnly) {
    const std::string quiet = "--data '" + data_ + "' -q -e cpu-clock ";
    const Finished finished = record(quiet + "-z -- sh -c 'echo out; echo err >&2; exit 3'");
    EXPECT_EQ(finished.ending.status, 3);
    EXPECT_EQ(finished.output, "out\n");
    EXPECT_EQ(finished.error_output, "err\n");
    const Finished failed = record(quiet + "-- /no/such/program");
    EXPECT_EQ(failed.ending.status, 127);
    EXPECT_NE(failed.error_output.find("/no/such/program"), std::string::npos) << failed.error_output;
}

TEST_F(RecordProgram, OptionsOfPerfThatItDoesntNeedAreExplained) {
    const Finished compressed = record("--data '" + data_ + "' -z -e cpu-clock -- true");
    EXPECT_EQ(compressed.ending.status, 0) << compressed.error_output;
    EXPECT_NE(compressed.error_output.find("-z: ignored: the store is always compressed"), std::string::npos)
        << compressed.error_output;
    for (const char* option : {"--switch-output", "--switch-output=10s"}) {
        const Finished switched = record(std::string{option} + " -- true");
        EXPECT_EQ(switched.ending.status, 2);
        EXPECT_NE(switched.error_output.find("--from and --until"), std::string::npos) << switched.error_output;
    }
}

TEST_F(RecordProgram, WritesAPerfDataFileAndKeepsTheOneThatWasThere) {
    const std::string file = folder_ / "perf data";
    const std::string options = "--data '" + data_ + "' -o '" + file + "' ";
    const std::string work = " -- '" + workload_path("shares_workload") + "' 0.2";
    std::ofstream{file} << "earlier";
    const Finished finished = record(options + "-e cpu-clock" + work);
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    EXPECT_NE(finished.error_output.find("\nNext: perf report -i '" + file + "'\n"), std::string::npos)
        << finished.error_output;
    EXPECT_EQ(text_of(file + ".old"), "earlier");
    const Finished report = run({"perf", "report", "--stdio", "-i", file});
    EXPECT_NE(report.output.find("work_a"), std::string::npos) << report.output << report.error_output;
    expect_exact();
    // If nothing can be written, nothing is, and that is no failure of the command.
    const std::string before = text_of(file);
    EXPECT_EQ(record(options + "-q -e sched:sched_process_hang -- sh -c 'exit 4'").ending.status, 4);
    EXPECT_EQ(text_of(file), before);
    for (const char* output : {"-o - ", "-o /no/such/folder/file "}) {
        const Finished refused = record(output + ("-- touch '" + (folder_ / "ran") + "'"));
        EXPECT_NE(refused.ending.status, 0);
        EXPECT_NE(refused.error_output.find("-o "), std::string::npos) << refused.error_output;
        EXPECT_FALSE(std::filesystem::exists(folder_ / "ran"));
    }
}

TEST_F(RecordProgram, TheEndOfTheFilesNameChoosesItsFormat) {
    struct NamedFile {
        const char* name;
        std::string begin;
    };
    for (const NamedFile& file :
         {NamedFile{"a.json", "{\"meta\""}, NamedFile{"a.json.gz", "\x1f\x8b"},
          NamedFile{"a.speedscope.json", "{\"$schema\""}, NamedFile{"a.pb.gz", "\x1f\x8b"},
          NamedFile{"a.folded", "shares_workload;"}, NamedFile{"a.html", "<!DOCTYPE html>"}, NamedFile{"a.svg", "<svg"},
          NamedFile{"a.unknown", "PERFILE2"}, NamedFile{"a", "PERFILE2"}}) {
        const std::string path = folder_ / file.name;
        const Finished finished =
            record("--data '" + data_ + "' -g -o '" + path + "' -- '" + workload_path("shares_workload") + "' 0.1");
        ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
        EXPECT_TRUE(text_of(path).starts_with(file.begin)) << file.name << ": " << text_of(path).substr(0, 20);
        EXPECT_NE(finished.error_output.find("perfleet record: " + path + ": "), std::string::npos)
            << finished.error_output;
    }
}

TEST_F(RecordProgram, ShowsALineOnATerminalAndErasesIt) {
    std::vector<std::string> program{program_path("perfleet"), "record", "--data", data_, "-e", "cpu-clock"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), program.begin(), program.end());
        return more;
    };
    const std::string shown = run_in_terminal(with({"-a", "--duration", "1.7"}), 80).output;
    const std::size_t line = shown.rfind("\x1b[KCtrl-C ends  ");
    ASSERT_NE(line, std::string::npos) << shown;
    const std::size_t erased = shown.find("\x1b[K", line + 1);
    ASSERT_NE(erased, std::string::npos) << shown;
    EXPECT_NE(shown.find(" rows/s  0 lost  spool "), std::string::npos) << shown;
    EXPECT_LT(erased, shown.find('\n', line)) << shown;
    EXPECT_LE(erased - line, 80 + 3 + 2) << "beside the escape sequence and an ellipsis of three bytes: " << shown;
    EXPECT_NE(shown.find("acknowledged;", erased), std::string::npos) << shown;
    // Not over a command's output there, not where nobody wants to see it, not into a pipe.
    for (const std::string& other : {run_in_terminal(with({"--", "sleep", "1.2"}), 80).output,
                                     run_in_terminal(with({"-q", "-a", "--duration", "1.2"}), 80).output,
                                     run(with({"-a", "--duration", "1.2"})).error_output}) {
        EXPECT_EQ(other.find("Ctrl-C"), std::string::npos) << other;
    }
}

TEST_F(RecordProgram, TheCollectorLogsToWhomItIsConnectedOrShowsIt) {
    GatewayProgram gateway{data_};
    const std::vector<std::string> collect{program_path("perfleet-collector"),
                                           "--gateway",
                                           gateway.listen(),
                                           "-e",
                                           "cpu-clock",
                                           "-a",
                                           "--duration",
                                           "1.2"};
    const std::string connected = "connected to the gateway at " + gateway.listen();
    EXPECT_NE(run(collect).error_output.find(connected), std::string::npos);
    const std::string shown = run_in_terminal(collect, 80).output;
    EXPECT_NE(shown.find("  to " + gateway.listen()), std::string::npos) << shown;
    const bool was_late = shown.find("waiting for the gateway") != std::string::npos;  // on a busy machine
    EXPECT_TRUE(was_late || shown.find(connected) == std::string::npos) << shown;
}

// As perf: whatever the command does with it. The terminal's interrupt goes to the command, too.
TEST_F(RecordProgram, EndsByTheSignalThatEndsItsCommandAndStoresAllTheSame) {
    const auto ended_by = [&](int signal, bool of_terminal, const std::string& command) {
        Process recording({"setsid", program_path("perfleet"), "record", "--data", data_, "-e", "cpu-clock", "--", "sh",
                           "-c", "echo started; " + command});
        EXPECT_TRUE(recording.wait_for_output("started").has_value()) << recording.error_output();
        EXPECT_EQ(kill(of_terminal ? -recording.pid() : recording.pid(), signal), 0);
        const auto ending = recording.wait();
        EXPECT_TRUE(ending.has_value()) << "the command runs on";
        EXPECT_NE(recording.error_output().find("all acknowledged"), std::string::npos) << recording.error_output();
        return ending.value_or(Ending{}).signal;
    };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        EXPECT_EQ(ended_by(signal, false, "exec sleep 1000"), signal);
    }
    EXPECT_EQ(ended_by(SIGINT, true, "exec sleep 1000"), SIGINT);
    EXPECT_EQ(ended_by(SIGINT, true, "trap 'exit 7' INT; while :; do sleep 0.01; done"), SIGINT);
    EXPECT_EQ(ledgers_of(data_).size(), 6U);
    for (const auto& ledger : ledgers_of(data_)) {
        ledger.expect_exact();
    }
}

TEST_F(RecordProgram, WithoutACommandInterruptAndTermAreTheUsualEnd) {
    for (const int signal : {SIGINT, SIGTERM}) {
        Process recording({program_path("perfleet"), "record", "--data", data_, "-F", "99", "-a"});
        ASSERT_TRUE(recording.wait_for_error("perfleet record: ").has_value()) << recording.error_output();
        recording.send_signal(signal);
        const auto ending = recording.wait();
        ASSERT_TRUE(ending.has_value());
        EXPECT_EQ(ending->status, 0) << recording.error_output();
    }
    EXPECT_EQ(record("-q --data '" + data_ + "' -- sh -c 'kill -TERM $$'").ending.status, 128 + SIGTERM)
        << "the command's own death";
}

// Closed terminals hang up on the shell and on its jobs, often twice.
TEST_F(RecordProgram, ASecondHangUpWaitsForTheRows) {
    Process recording({program_path("perfleet"), "record", "--data", data_, "-e", "cpu-clock", "--", "sh", "-c",
                       "echo started; exec sleep 1000"});
    ASSERT_TRUE(recording.wait_for_output("started").has_value());
    recording.send_signal(SIGHUP);
    recording.send_signal(SIGHUP);
    const auto ending = recording.wait();
    ASSERT_TRUE(ending.has_value()) << "the command runs on";
    EXPECT_EQ(ending->signal, SIGHUP);
    EXPECT_NE(recording.error_output().find("all acknowledged"), std::string::npos) << recording.error_output();
    expect_exact();
}

TEST_F(RecordProgram, NohupHoldsGoodForIt) {
    const Finished finished = run({"nohup", program_path("perfleet"), "record", "--data", data_, "-e", "cpu-clock",
                                   "--", "sh", "-c", "kill -HUP $PPID; exit 7"});
    EXPECT_EQ(finished.ending.signal, 0);
    EXPECT_EQ(finished.ending.status, 7) << "the command ended by itself:\n" << finished.error_output;
    expect_exact();
}

TEST_F(RecordProgram, AHangUpEndsCollectorAndGatewayInOrder) {
    GatewayProgram gateway{data_};
    Process collector({program_path("perfleet-collector"), "--gateway", gateway.listen(), "-e", "cpu-clock",
                       "--exit-wait", "60", "--", "sh", "-c", "echo started; exec sleep 1000"});
    ASSERT_TRUE(collector.wait_for_output("started").has_value());
    collector.send_signal(SIGHUP);
    const auto ending = collector.wait();
    ASSERT_TRUE(ending.has_value()) << "the command runs on";
    EXPECT_EQ(ending->status, 0) << collector.error_output();
    const Ending of_gateway = gateway.end(SIGHUP);
    EXPECT_EQ(of_gateway.signal, 0);
    EXPECT_EQ(of_gateway.status, 0);
    expect_exact();
}

TEST_F(RecordProgram, WithoutAHomeItAsksForAFolder) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "a user who isn't in the list of users: needs root";
    }
    constexpr uid_t kNobodyKnown = 4'000'000;
    Process::Options options;
    options.user = kNobodyKnown;
    for (const char* arguments : {"record -e cpu-clock -- true", "top", "inspect", "import --format frames x"}) {
        const Finished finished = run(
            {"sh", "-c", "unset HOME XDG_DATA_HOME; exec '" + program_path("perfleet") + "' " + std::string{arguments}},
            options);
        EXPECT_EQ(finished.ending.status, 2) << arguments << ": " << finished.error_output;
        EXPECT_NE(finished.error_output.find("name one with --data"), std::string::npos) << finished.error_output;
    }
}

TEST_F(RecordProgram, WhatToTryNextIsQuotedForAShell) {
    data_ = folder_ / "sp ace/d'x";
    const Finished recorded = run({program_path("perfleet"), "record", "--data", data_, "-e", "cpu-clock", "--", "sh",
                                   "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const std::string& said = recorded.error_output;
    const std::size_t at = said.find(" --data ", said.find("\nNext: "));
    ASSERT_NE(at, std::string::npos) << said;
    const std::size_t end = said.find(" && ", at);
    const std::string word = said.substr(at + 8, end - at - 8);
    EXPECT_EQ(run({"sh", "-c", "printf %s " + word}).output, data_) << word;
}

// A file system of its own, soon full.
class SmallRoom {
public:
    explicit SmallRoom(std::string path, const char* size = "size=64m") : path_{std::move(path)} {
        std::filesystem::create_directory(path_);
        is_mounted_ = mount("perfleet-test", path_.c_str(), "tmpfs", 0, size) == 0;
    }
    SmallRoom(const SmallRoom&) = delete;
    SmallRoom& operator=(const SmallRoom&) = delete;
    ~SmallRoom() {
        if (is_mounted_) {
            umount2(path_.c_str(), MNT_DETACH);
        }
    }
    [[nodiscard]] bool is_mounted() const { return is_mounted_; }

private:
    std::string path_;
    bool is_mounted_ = false;
};

TEST_F(RecordProgram, OnAFullDiskSaysWhatIsLostAndWhy) {
    const SmallRoom room{folder_ / "room"};
    if (!room.is_mounted()) {
        GTEST_SKIP() << "may not mount a file system";
    }
    data_ = folder_ / "room/data";
    const std::string filling = folder_ / "room/filling";
    const Finished finished =
        run({program_path("perfleet"), "record", "--data", data_, "--exit-wait", "1", "-e",
             "syscalls:sys_enter_getppid", "--", "sh", "-c",
             "head -c 100m /dev/zero > '" + filling + "'; exec '" + workload_path("getppid_workload") + "' 1000000"});
    EXPECT_EQ(finished.ending.status, 1);
    const std::string& said = finished.error_output;
    const std::size_t summary = said.find(" rows, ");
    const std::size_t cause = said.find("could not be stored: ");
    ASSERT_NE(summary, std::string::npos) << said;
    ASSERT_NE(cause, std::string::npos) << said;
    EXPECT_LT(summary, cause) << said;
    EXPECT_EQ(said.find(", 0 lost"), std::string::npos) << said;
    EXPECT_NE(said.find("(undelivered "), std::string::npos) << said;
    EXPECT_NE(said.find("No space left on device", cause), std::string::npos) << said;
    EXPECT_NE(said.find("with --data", cause), std::string::npos) << said;
    EXPECT_EQ(said.find("still have"), std::string::npos) << "the collector is gone:\n" << said;
}

// The database reserves nothing that rows need, and symbols are left out.
TEST_F(RecordProgram, OnASmallDiskUsesWhatIsFree) {
    const SmallRoom room{folder_ / "room", "size=5m"};
    if (!room.is_mounted()) {
        GTEST_SKIP() << "may not mount a file system";
    }
    data_ = folder_ / "room/data";
    const Finished finished = run({program_path("perfleet"), "record", "-q", "--data", data_, "-e",
                                   "syscalls:sys_enter_getppid", "--", workload_path("getppid_workload"), "100000"});
    EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    expect_exact();
}

TEST_F(RecordProgram, SaysWhyACommandCantBeRun) {
    const std::string script = folder_ / "script";
    std::ofstream{script} << "#!/no/such/interpreter -e\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    for (const char* command : {"record -q --data '", "stat -- '"}) {
        const bool records = std::string{command}.starts_with("record");
        const auto said = [&](const std::string& name) {
            return run({"sh", "-c",
                        "exec '" + program_path("perfleet") + "' " + command + (records ? data_ + "' -- '" : "") +
                            name + "'"});
        };
        const Finished missing = said(script);
        EXPECT_EQ(missing.ending.status, 127);
        EXPECT_NE(missing.error_output.find("its interpreter '/no/such/interpreter' isn't there"), std::string::npos)
            << missing.error_output;
        const Finished folder = said(folder_.path().string());
        EXPECT_EQ(folder.ending.status, 126);
        EXPECT_NE(folder.error_output.find("Is a directory"), std::string::npos) << folder.error_output;
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::record_program_test
