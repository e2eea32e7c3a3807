// perfleet-collector as a user meets it: messages, exit statuses, signals, and what it writes to a file.
#include <capnp/serialize.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collector.capnp.h"
#include "schemas/vocabulary/series.h"
#include "target-collector/wire/frame_file.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::collector_program_test {
namespace {

Finished collect(const std::vector<std::string>& arguments, const Process::Options& options = {}) {
    std::vector<std::string> command{program_path("perfleet-collector")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run(command, options);
}

// The contents of a file of frames, counted independently of the collector.
struct Recorded {
    std::map<std::string, std::string> labels;
    std::string target_name;
    std::vector<std::string> events;
    std::vector<std::string> formats;
    std::map<std::pair<std::uint8_t, std::uint16_t>, std::uint64_t> rows;
    std::map<std::pair<std::uint8_t, std::uint16_t>, std::uint64_t> produced;
    std::map<std::pair<std::uint8_t, std::uint16_t>, std::uint64_t> lost;
    std::uint64_t batches = 0;
    std::uint64_t images = 0;
    bool has_bye = false;
};

void take_counts(const capnp::List<wire::CountEntry>::Reader& counts, Recorded& recorded) {
    recorded.produced.clear();
    recorded.lost.clear();
    for (const auto entry : counts) {
        const std::pair series{entry.getKind(), entry.getEvent()};
        if (entry.getName() == static_cast<std::uint16_t>(CountName::kProduced)) {
            recorded.produced[series] += entry.getValue();
        } else if (is_loss(static_cast<CountName>(entry.getName()))) {
            recorded.lost[series] += entry.getValue();
        }
    }
}

Recorded read_recorded(const std::string& path) {
    Recorded recorded;
    auto file = FrameFile::open(path);
    EXPECT_TRUE(file.ok()) << file.error().message;
    for (;;) {
        const auto frame = (*file)->next();
        EXPECT_TRUE(frame.ok()) << frame.error().message;
        if (!frame.ok() || frame->empty()) {
            return recorded;
        }
        std::vector<capnp::word> words(frame->size() / sizeof(capnp::word));
        std::memcpy(words.data(), frame->data(), frame->size());
        capnp::FlatArrayMessageReader reader(kj::arrayPtr(words.data(), words.size()));
        const auto envelope = reader.getRoot<wire::Envelope>();
        if (envelope.isHello()) {
            recorded.target_name = envelope.getHello().getTargetName().cStr();
            for (const auto label : envelope.getHello().getLabels()) {
                recorded.labels[label.getKey().cStr()] = label.getValue().cStr();
            }
            recorded.events.clear();
            recorded.formats.clear();
            for (const auto event : envelope.getHello().getEvents()) {
                recorded.events.emplace_back(event.getName().cStr());
                recorded.formats.emplace_back(event.getFormat().cStr());
            }
        } else if (envelope.isBatch()) {
            ++recorded.batches;
            for (const auto series : envelope.getBatch().getSeries()) {
                recorded.rows[{series.getKind(), series.getEvent()}] += series.getRowCount();
            }
        } else if (envelope.isImage()) {
            ++recorded.images;
        } else if (envelope.isBye()) {
            recorded.has_bye = true;
            take_counts(envelope.getBye().getCounts(), recorded);
        }
    }
}

// Produced = stored + lost, for every series.
void expect_exact(const Recorded& recorded) {
    EXPECT_TRUE(recorded.has_bye);
    for (const auto& [series, produced] : recorded.produced) {
        const auto stored = recorded.rows.find(series);
        const auto lost = recorded.lost.find(series);
        EXPECT_EQ(produced, (stored == recorded.rows.end() ? 0 : stored->second) +
                                (lost == recorded.lost.end() ? 0 : lost->second))
            << int{series.first} << '/' << series.second;
    }
}

std::pair<std::uint8_t, std::uint16_t> series(Kind kind, std::uint16_t event) {
    return {static_cast<std::uint8_t>(kind), event};
}

TEST(CollectorProgram, HelpAndVersionSucceed) {
    EXPECT_EQ(collect({"--help"}).ending.status, 0);
    EXPECT_NE(collect({"--help"}).output.find("--gateway"), std::string::npos);
    EXPECT_EQ(collect({"--version"}).ending.status, 0);
    EXPECT_NE(collect({"--version"}).output.find("perfleet-collector"), std::string::npos);
}

TEST(CollectorProgram, BadUsageExitsWithTwoAndNamesTheOption) {
    const TemporaryFolder folder;
    const std::string file = folder / "out";
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{}, "--gateway"},
        {{"-a"}, "--gateway"},
        {{"--output", file}, "-p PID"},
        {{"--bogus"}, "--bogus"},
        {{"--output", file, "-a", "-e", "cpu-clok"}, "cpu-clock"},
        {{"--output", file, "-a", "-e", "cs,"}, "-e"},
        {{"--output", file, "-a", "-F", "0"}, "-F"},
        {{"--output", file, "-a", "-F", "-3"}, "-3"},
        {{"--output", file, "-a", "-c", "x"}, "--count"},
        {{"--output", file, "-a", "-F", "9", "-c", "9"}, "--freq"},
        {{"--output", file, "-p", "0"}, "-p"},
        {{"--output", file, "-p", "abc"}, "abc"},
        {{"--output", file, "-a", "-p", "1"}, "-p"},
        {{"--output", file, "-a", "--label", "nothing"}, "--label"},
        {{"--output", file, "-a", "--label", "a=1", "--label", "b=1", "--label", "a=2"},
         "--label a: this key is given twice"},
        {{"--output", file, "-a", "--label", "target=web"}, "--label target: in selections"},
        {{"--output", file, "-a", "--label", std::string(257, 'k') + "=1"}, "its key has 257 bytes; at most 256"},
        {{"--output", file, "-a", "--label", "a=" + std::string(257, 'v')}, "its value has 257 bytes; at most 256"},
        {{"--output", file, "-a", "--target", std::string(257, 't')}, "a name of 257 bytes; at most 256"},
        {{"--output", file, "-a", "--ring-pages", "70000"}, "at most 65536"},
        {{"--output", file, "-a", "--ring-size", "1KB"}, "--ring-size"},
        {{"--output", file, "-a", "--spool-size", "1KB"}, "--spool-size"},
        {{"--output", file, "-a", "--duration", "0"}, "--duration"},
        {{"--output", file, "--gateway", "tcp://127.0.0.1:1", "-a"}, "--output"},
        {{"--gateway", "nonsense", "-a"}, "nonsense"},
        {{"--gateway", "tcp://127.0.0.1:85947", "-a"}, "--gateway: tcp://127.0.0.1:85947: nothing to connect to"},
        {{"--gateway", "tcp://127.0.0.1:1", "-a", "--key", "", "--gateway-key", ""}, "key: is empty"},
        {{"--gateway", "tcp://127.0.0.1:1", "-a", "--spool", ""}, "--spool: is empty"},
        {{"--gateway", "", "-a"}, "--gateway: is empty"},
        {{"--output", "", "-a"}, "--output: is empty"},
        {{"--output", file, "-a", "--metrics", ""}, "--metrics: is empty"},
        {{"--output", file, "-a", "--spool-size", "100g"}, "at most 68719476736 (64 GB)"},
        {{"--output", file, "-a", "--ring-size", "100g"}, "at most 68719476736 (64 GB)"},
    };
    for (const auto& [arguments, named] : cases) {
        const Finished finished = collect(arguments);
        EXPECT_EQ(finished.ending.status, 2) << finished.error_output;
        EXPECT_NE(finished.error_output.find(named), std::string::npos) << finished.error_output;
        EXPECT_TRUE(finished.error_output.starts_with("perfleet-collector: ")) << finished.error_output;
    }
}

TEST(CollectorProgram, ACommandThatCantBeRunEndsAsInAShell) {
    const TemporaryFolder folder;
    const std::string file = folder / "out";
    const Finished missing = collect({"--output", file, "--", "no-such-command"});
    EXPECT_EQ(missing.ending.status, 127);
    EXPECT_NE(missing.error_output.find("'no-such-command'"), std::string::npos);
    EXPECT_EQ(collect({"--output", file, "--", "/etc/passwd"}).ending.status, 126);
}

TEST(CollectorProgram, AKeyFileThatIsntThereIsNoMissingCommand) {
    for (const std::string option : {"--key", "--gateway-key"}) {
        const TestKeys keys;
        const Finished finished =
            collect({"--gateway", "tcp://127.0.0.1:1", "--key", option == "--key" ? "nowhere" : keys.secret("gateway"),
                     "--gateway-key", option == "--key" ? std::string(40, '0') : "nowhere", "--", "true"});
        EXPECT_EQ(finished.ending.status, 2) << finished.error_output;
        EXPECT_NE(finished.error_output.find(option + " nowhere"), std::string::npos) << finished.error_output;
    }
}

TEST(CollectorProgram, WhatIsntThereExitsWithOne) {
    const TemporaryFolder folder;
    const Finished no_process = collect({"--output", folder / "out", "-p", "4194304"});
    EXPECT_EQ(no_process.ending.status, 1);
    EXPECT_NE(no_process.error_output.find("4194304"), std::string::npos);
    const Finished no_folder = collect({"--output", folder / "missing/out", "-a"});
    EXPECT_EQ(no_folder.ending.status, 1);
    EXPECT_NE(no_folder.error_output.find("missing/out"), std::string::npos);
    const Finished no_event = collect({"--output", folder / "out", "-e", "rffffffffffffffff", "--", "true"});
    EXPECT_EQ(no_event.ending.status, 1);
    EXPECT_NE(no_event.error_output.find("not supported by this machine"), std::string::npos);
}

// A gateway takes 4,096 words of a session's command line.
TEST(CollectorProgram, ACommandOfManyWordsIsRecordedAllTheSame) {
    const TemporaryFolder folder;
    const std::string file = folder / "out";
    std::vector<std::string> arguments{"--output", file, "-e", "cpu-clock", "--", "true"};
    arguments.resize(6'000, "word");
    EXPECT_EQ(collect(arguments).ending.status, 0);
    const Finished imported = run({program_path("perfleet"), "import", "--data", folder / "store", file});
    EXPECT_EQ(imported.ending.status, 0) << imported.error_output;
}

TEST(CollectorProgram, AFileThatItWroteIsImportedAsTheSessionThatItIs) {
    const TemporaryFolder folder;
    const std::string file = folder / "out";
    ASSERT_EQ(collect({"--output", file, "-e", "cpu-clock", "-F", "999", "-g", "--target", "the-target", "--", "sh",
                       "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"})
                  .ending.status,
              0);
    const Recorded recorded = read_recorded(file);
    std::uint64_t rows = 0;
    for (const auto& [series, count] : recorded.rows) {
        rows += is_definition(static_cast<Kind>(series.first)) ? 0 : count;
    }
    const std::vector<std::string> import{program_path("perfleet"), "import", "--format", "frames", "--data",
                                          folder / "store",         file};
    const Finished first = run(import);
    EXPECT_EQ(first.ending.status, 0) << first.error_output;
    EXPECT_NE(first.output.find(" of the-target: " + std::to_string(rows) + " rows"), std::string::npos)
        << first.output;
    EXPECT_EQ(first.error_output, "");
    const Finished second = run(import);
    EXPECT_EQ(second.ending.status, 0) << second.error_output;
    EXPECT_NE(second.output.find(" was there already\n"), std::string::npos) << second.output;
    const Finished top = run({program_path("perfleet"), "top", "--data", folder / "store", "--session", "last"});
    EXPECT_EQ(top.ending.status, 0) << top.error_output;
    auto as_another = import;
    as_another.emplace_back("--new-session");
    EXPECT_EQ(run(as_another).ending.status, 2) << "its id is its own";
    auto labelled = import;
    labelled.insert(labelled.end(), {"--label", "a=b"});
    EXPECT_EQ(run(labelled).ending.status, 2) << "labels are in the file";
}

TEST(CollectorProgram, RecordsACommandWithItsChildren) {
    const TemporaryFolder folder;
    const std::string file = folder / "out";
    const Finished finished =
        collect({"--output", file, "-e", "cpu-clock", "-F", "999", "-g", "--target", "the-target", "--label", "a=b",
                 "--label", "c=d=e", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 5"});
    EXPECT_EQ(finished.ending.status, 5) << "the command's own: " << finished.error_output;
    EXPECT_NE(finished.error_output.find("exit status was 5"), std::string::npos) << finished.error_output;
    EXPECT_NE(finished.error_output.find("all acknowledged"), std::string::npos) << finished.error_output;
    const Recorded recorded = read_recorded(file);
    EXPECT_EQ(recorded.target_name, "the-target");
    EXPECT_EQ(recorded.labels, (std::map<std::string, std::string>{{"a", "b"}, {"c", "d=e"}}));
    EXPECT_EQ(recorded.events, std::vector<std::string>{"cpu-clock"});
    EXPECT_GT(recorded.rows.at(series(Kind::kSample, 0)), 10U);
    EXPECT_GT(recorded.rows.at(series(Kind::kCounter, 0)), 1U);
    EXPECT_GT(recorded.rows.at(series(Kind::kTask, 0xffff)), 3U);
    expect_exact(recorded);
}

TEST(CollectorProgram, EveryTracepointIsInTheFileOrLostWithAReason) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "tracepoints need root";
    }
    constexpr std::uint64_t kCalls = 100'000;
    for (const char* pages : {"256", "1"}) {
        const TemporaryFolder folder;
        const std::string file = folder / "out";
        const Finished finished =
            collect({"--output", file, "-e", "syscalls:sys_enter_getppid", "-c", "1", "--ring-pages", pages, "--",
                     workload_path("getppid_workload"), std::to_string(kCalls)});
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        const Recorded recorded = read_recorded(file);
        expect_exact(recorded);
        EXPECT_EQ(recorded.produced.at(series(Kind::kTracepoint, 0)), kCalls);
        ASSERT_EQ(recorded.formats.size(), 1U);
        EXPECT_NE(recorded.formats[0].find("sys_enter_getppid"), std::string::npos);
    }
}

TEST(CollectorProgram, CtrlCEndsTheCollectionInOrder) {
    const TemporaryFolder folder;
    const std::string file = folder / "out";
    Process process({program_path("perfleet-collector"), "--output", file, "-e", "cpu-clock", "--", "sh", "-c",
                     "echo started >&2; exec sleep 1000"});
    ASSERT_TRUE(process.wait_for_error("started").has_value());
    process.send_signal(SIGINT);
    const auto ending = process.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0) << process.error_output();
    EXPECT_NE(process.error_output().find("all acknowledged"), std::string::npos) << process.error_output();
    expect_exact(read_recorded(file));
}

bool catches(pid_t pid, int signal) {
    std::ifstream status{"/proc/" + std::to_string(pid) + "/status"};
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("SigCgt:")) {
            return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1U) != 0;
        }
    }
    return false;
}

// A pipe delays the start as long as nobody reads it.
TEST(CollectorProgram, ASignalThatComesWhileItStartsEndsItInOrder) {
    const TemporaryFolder folder;
    const std::string pipe = folder / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const std::vector<std::string> command{
        program_path("perfleet-collector"), "--output", pipe, "-e", "cpu-clock", "--", "sleep", "1000"};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    const auto started = [&] {
        auto process = std::make_unique<Process>(command);
        while (!catches(process->pid(), SIGTERM) && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        process->send_signal(SIGTERM);
        return process;
    };
    {
        const auto process = started();
        const int reader = ::open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
        ASSERT_GE(reader, 0);
        std::array<char, 4'096> bytes{};
        while (::read(reader, bytes.data(), bytes.size()) > 0) {
        }
        ::close(reader);
        const auto ending = process->wait();
        ASSERT_TRUE(ending.has_value());
        EXPECT_EQ(ending->signal, 0) << process->error_output();
        EXPECT_NE(process->error_output().find("all acknowledged"), std::string::npos) << process->error_output();
    }
    const auto process = started();
    process->send_signal(SIGINT);
    const auto ending = process->wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_NE(ending->signal, 0) << "a second one ends a start that takes for ever";
}

TEST(CollectorProgram, ASecondCtrlCGivesUpWaiting) {
    // Nobody listens there: port 1 needs a privilege that no test uses.
    Process process({program_path("perfleet-collector"), "--gateway", "tcp://127.0.0.1:1", "--exit-wait", "1000", "-e",
                     "cpu-clock", "--", "sh", "-c", "echo started >&2; exec sleep 1000"});
    ASSERT_TRUE(process.wait_for_error("started").has_value());
    process.send_signal(SIGTERM);
    ASSERT_TRUE(process.wait_for_error("perfleet-collector: waiting for the gateway at tcp://127.0.0.1:1").has_value())
        << process.error_output();
    process.send_signal(SIGINT);
    const auto ending = process.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 1) << process.error_output();
    EXPECT_NE(process.error_output().find("not all acknowledged"), std::string::npos) << process.error_output();
}

TEST(CollectorProgram, AnAbsentGatewayIsToldAndWhatIsLostCounted) {
    const Finished finished =
        collect({"--gateway", "tcp://127.0.0.1:1", "--exit-wait", "1.5", "-e", "page-faults", "-c", "1", "--", "true"});
    EXPECT_EQ(finished.ending.status, 1);
    EXPECT_NE(finished.error_output.find("waiting for the gateway at tcp://127.0.0.1:1"), std::string::npos)
        << finished.error_output;
    EXPECT_NE(finished.error_output.find("(undelivered "), std::string::npos) << finished.error_output;
    EXPECT_EQ(finished.error_output.find("spool_full"), std::string::npos) << "it had room:\n" << finished.error_output;
    EXPECT_NE(finished.error_output.find("1 dropped"), std::string::npos) << finished.error_output;
}

TEST(CollectorProgram, TheProcessOfPEndsTheCollection) {
    const TemporaryFolder folder;
    const std::string file = folder / "out";
    Process target({"sh", "-c", "echo started; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"});
    ASSERT_TRUE(target.wait_for_output("started").has_value());
    Process collector(
        {program_path("perfleet-collector"), "--output", file, "-e", "cpu-clock", "-p", std::to_string(target.pid())});
    const auto ending = collector.wait();
    ASSERT_TRUE(ending.has_value());
    // Gone before the events were open, or the collection ended with it.
    if (ending->status == 0) {
        expect_exact(read_recorded(file));
    } else {
        EXPECT_EQ(ending->status, 1);
        EXPECT_NE(collector.error_output().find("process"), std::string::npos) << collector.error_output();
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::collector_program_test
