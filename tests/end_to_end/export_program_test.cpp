// `perfleet export` of real recordings, read by the real perf.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::export_program_test {
namespace {

class ExportProgram : public testing::Test {
protected:
    void SetUp() override {
        if (run({"sh", "-c", "command -v perf"}).ending.status != 0) {
            GTEST_SKIP() << "perf is not installed";
        }
    }

    // perfleet ARGUMENTS --data of this test.
    void perfleet(std::vector<std::string> arguments, const std::vector<std::string>& command = {}) const {
        arguments.insert(arguments.begin(), program_path("perfleet"));
        arguments.insert(arguments.end(), {"--data", folder_ / "data"});
        arguments.insert(arguments.end(), command.begin(), command.end());
        const Finished finished = run(arguments);
        ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    }

    [[nodiscard]] std::string perf(const std::string& arguments) const {
        return run({"sh", "-c", "cd '" + folder_.path().string() + "' && HOME=$PWD perf " + arguments}).output;
    }

    TemporaryFolder folder_;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

// Without the comment lines, which hold the path and the file's size, and without the name beside a process id, which
// is that of its last program in the whole file.
std::string rows_of(const std::string& report) {
    static const std::regex name_of_process{"( [0-9]+):[^ ]* *"};
    std::string rows;
    for (const std::string& line : lines_of(report)) {
        if (!line.empty() && line.front() != '#') {
            rows += std::regex_replace(line, name_of_process, "$1 ") + "\n";
        }
    }
    return rows;
}

TEST_F(ExportProgram, OfATimeRangeHoldsWhatItsSamplesNeedAndShowsThemUnchanged) {
    perfleet({"record", "-e", "cpu-clock", "-F", "4999", "-g"},
             {"--", "sh", "-c", "for i in $(seq 400); do /bin/true; expr $i + 1 >/dev/null; done"});
    perfleet({"export", "--to", "perf.data", "-o", folder_ / "whole.data"});
    // The middle fifth.
    const std::vector<std::string> times = lines_of(perf("script -i whole.data --ns -F tod -G"));
    ASSERT_GT(times.size(), 500U);
    const auto utc = [&](std::size_t index) {  // "2026-01-02 03:04:05.123456789 " → RFC 3339
        return times[index].substr(0, 10) + "T" + times[index].substr(11, 18) + "Z";
    };
    perfleet({"export", "--to", "perf.data", "-o", folder_ / "slice.data", "--from", utc(times.size() * 2 / 5),
              "--until", utc(times.size() * 3 / 5)});

    const std::string fields = "--ns -F comm,pid,tid,cpu,time,event,ip,sym,symoff,dso,period";
    const std::string slice = perf("script -i slice.data " + fields);
    const std::vector<std::string> slice_times = lines_of(perf("script -i slice.data --ns -F time -G"));
    ASSERT_GT(slice_times.size(), times.size() / 6);
    const auto seconds = [](const std::string& line) {
        const std::size_t first = line.find_first_not_of(' ');
        return line.substr(first, line.find(':') - first);
    };
    const std::string range = " --time " + seconds(slice_times.front()) + "," + seconds(slice_times.back());
    EXPECT_EQ(slice, perf("script -i whole.data " + fields + range));
    const std::string report = "--stdio --no-children -g none --sort comm,pid,dso,sym ";
    EXPECT_EQ(rows_of(perf("report -i slice.data " + report)), rows_of(perf("report -i whole.data " + report + range)));

    // Processes without samples don't appear, and a process's mappings are those of its frames.
    std::set<std::string> pids;
    std::set<std::string> images;  // of each process and its name
    std::string task;
    for (const std::string& line : lines_of(perf("script -i slice.data -F comm,pid,ip,dso"))) {
        if (const std::size_t image = line.find('('); image != std::string::npos) {
            images.insert(task + line.substr(image));
        } else if (!line.empty()) {
            task = line.substr(0, line.find_last_not_of(' ') + 1);
            pids.insert(task.substr(task.find_last_of(' ') + 1));
        }
    }
    std::map<std::string, std::size_t> counts;
    for (const std::string& line :
         lines_of(perf("script -i slice.data -F pid -G --show-task-events --show-mmap-events"))) {
        const std::size_t record = line.find("PERF_RECORD_");
        if (record == std::string::npos || line.find("[kernel.kallsyms]") != std::string::npos) {
            continue;
        }
        ++counts[line.substr(record, line.find_first_of(" :(", record) - record)];
        const std::size_t pid = line.find_first_not_of(' ');
        EXPECT_TRUE(pids.contains(line.substr(pid, line.find(' ', pid) - pid))) << line;
    }
    EXPECT_LE(counts["PERF_RECORD_FORK"], pids.size());
    EXPECT_LE(counts["PERF_RECORD_COMM"], 2 * pids.size());
    EXPECT_LE(counts["PERF_RECORD_MMAP2"], images.size());
    EXPECT_EQ(counts["PERF_RECORD_EXIT"], 0U);
}

// The file contains its symbols: another store, without any, has the counts of the first.
TEST_F(ExportProgram, WhatIsImportedAgainHasTheSameProfile) {
    perfleet({"record", "-e", "cpu-clock", "-F", "4999", "-g"},
             {"--", "sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; ls /usr/lib >/dev/null"});
    perfleet({"export", "--to", "perf.data", "--with-symbols", "-o", folder_ / "out.data"});
    const std::string report = " report -i out.data --stdio --no-children -g none --sort comm,dso,sym";
    EXPECT_EQ(rows_of(perf("--buildid-dir out.data.debug" + report)), rows_of(perf(report)));
    EXPECT_FALSE(std::filesystem::is_empty((folder_.path() / "out.data.debug/.build-id")));

    const auto profile = [&](const std::string& data) {
        const Finished top =
            run({program_path("perfleet"), "top", "--all", "--format", "json", "--data", folder_ / data});
        EXPECT_EQ(top.ending.status, 0) << top.error_output;
        // The mark of a chain that isn't whole has no name in perf.data.
        nlohmann::json rows = nlohmann::json::array();
        const nlohmann::json answer = nlohmann::json::parse(top.output);
        for (const nlohmann::json& row : answer["rows"]) {
            const std::string symbol = row.at(0);
            if (!symbol.starts_with("[truncated: ") && symbol != "[unknown]") {
                rows.push_back(row);
            }
        }
        return rows;
    };
    const Finished imported =
        run({program_path("perfleet"), "import", folder_ / "out.data", "--data", folder_ / "again"});
    ASSERT_EQ(imported.ending.status, 0) << imported.error_output;
    EXPECT_NE(imported.output.find(" of them samples"), std::string::npos) << imported.output;
    EXPECT_EQ(profile("again"), profile("data"));
    const Finished other =
        run({program_path("perfleet"), "import", program_path("perfleet"), "--data", folder_ / "again"});
    EXPECT_NE(other.ending.status, 0);
    EXPECT_NE(other.error_output.find("--format names other formats"), std::string::npos) << other.error_output;
}

TEST_F(ExportProgram, KeepsPerfDataAsOldAndReplacesOtherFilesWhenForced) {
    perfleet({"record", "-e", "cpu-clock", "-F", "4999", "-g"}, {"--", "sh", "-c", "head -c 3000000 /dev/zero | gzip"});
    for (int i = 0; i < 2; ++i) {
        perfleet({"export", "--to", "perf.data", "-o", folder_ / "perf.data"});
    }
    EXPECT_NE(perf("script -i perf.data.old -F comm -G"), "");
    constexpr auto kOwner = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
    EXPECT_EQ(std::filesystem::status(folder_ / "perf.data").permissions(), kOwner);
    perfleet({"export", "--to", "folded", "-o", folder_ / "folded"});
    const Finished refused = run(
        {program_path("perfleet"), "export", "--to", "folded", "-o", folder_ / "folded", "--data", folder_ / "data"});
    EXPECT_EQ(refused.ending.status, 2);
    EXPECT_NE(refused.error_output.find("--force"), std::string::npos) << refused.error_output;
    perfleet({"export", "--to", "folded", "-o", folder_ / "folded", "--force"});
    EXPECT_FALSE(std::filesystem::exists(folder_ / "folded.old"));
}

// Without frames of which one of the two knows no name: perf has none for some entries of the PLT.
std::vector<std::string> named_lines_of(const std::string& text) {
    std::vector<std::string> lines = lines_of(text);
    std::erase_if(lines, [](const std::string& line) {
        return line.find("@plt") != std::string::npos || line.find("[unknown]") != std::string::npos;
    });
    return lines;
}

TEST_F(ExportProgram, FormatAndFileNameFollowFromEachOther) {
    perfleet({"record", "-q", "-g"}, {"--", workload_path("shares_workload"), "0.1"});
    const auto say = [&](const std::vector<std::string>& arguments) {
        std::vector<std::string> all{program_path("perfleet")};
        all.insert(all.end(), arguments.begin(), arguments.end());
        all.insert(all.end(), {"--data", folder_ / "data"});
        Process::Options options;
        options.folder = folder_.path().string();
        return run(all, options);
    };
    const auto begin_of = [&](const std::string& name) { return run({"head", "-c", "8", folder_ / name}).output; };
    // A name for each format.
    EXPECT_EQ(say({"export", "--to", "perf.data"}).ending.status, 0);
    EXPECT_EQ(begin_of("perf.data"), "PERFILE2");
    EXPECT_EQ(say({"export", "--to", "pprof"}).ending.status, 0);
    EXPECT_EQ(begin_of("profile.pb.gz").substr(0, 2), "\x1f\x8b");
    // A format for each name, of flame graphs, too.
    for (const char* command : {"export", "flamegraph"}) {
        EXPECT_EQ(say({command, "--force", "-o", "a.speedscope.json"}).ending.status, 0);
        EXPECT_EQ(begin_of("a.speedscope.json"), "{\"$schem");
        EXPECT_EQ(say({command, "--force", "-o", "a.json"}).ending.status, 0);
        EXPECT_EQ(begin_of("a.json"), "{\"meta\":");
    }
    EXPECT_EQ(say({"export", "-o", "a.json.gz"}).ending.status, 0);
    EXPECT_EQ(begin_of("a.json.gz").substr(0, 2), "\x1f\x8b");
    for (const auto& [format, begin] : {std::pair{"speedscope", "{\"$schem"}, std::pair{"firefox", "{\"meta\":"}}) {
        const Finished named = say({"export", "--to", format, "--force", "-o", "b.json"});
        EXPECT_EQ(named.ending.status, 0);
        EXPECT_EQ(begin_of("b.json"), begin);
        EXPECT_EQ(named.error_output.find("the name is one of"), std::string::npos) << named.error_output;
    }
    EXPECT_EQ(say({"export", "--to", "html", "--as", "json", "--force", "-o", "b.json"}).ending.status, 0);
    for (const auto& [format, file, owner] :
         {std::tuple{"pprof", "x.svg", "html"}, std::tuple{"folded", "x.json", "firefox"},
          std::tuple{"firefox", "x.speedscope.json", "speedscope"}, std::tuple{"html", "x.pb.gz", "pprof"}}) {
        const Finished contradicted = say({"export", "--to", format, "-o", file});
        EXPECT_EQ(contradicted.ending.status, 2);
        EXPECT_NE(contradicted.error_output.find("the name is for " + std::string{owner} + " ("), std::string::npos)
            << contradicted.error_output;
        EXPECT_NE(contradicted.error_output.find("), and --to is " + std::string{format}), std::string::npos)
            << contradicted.error_output;
    }
    for (const std::vector<std::string>& unknown :
         {std::vector<std::string>{"export"}, {"export", "-o", "a.xyz"}, {"export", "-o", "-"}}) {
        const Finished refused = say(unknown);
        EXPECT_EQ(refused.ending.status, 2);
        EXPECT_NE(refused.error_output.find(".speedscope.json (speedscope), "), std::string::npos)
            << refused.error_output;
    }
    const Finished empty = say({"export", "-o", "none.folded", "--symbol", "nowhere<*"});
    EXPECT_EQ(empty.ending.status, 0);
    EXPECT_NE(empty.error_output.find("the file is empty"), std::string::npos) << empty.error_output;
    EXPECT_NE(empty.error_output.find("--symbol 'nowhere<*'"), std::string::npos) << empty.error_output;
}

// Whether or not the shell ignores SIGPIPE.
TEST_F(ExportProgram, AReaderThatQuitsIsNoError) {
    perfleet({"record", "-q", "-g", "-F", "9999"}, {"--", workload_path("shares_workload"), "0.5"});
    const std::string program = "'" + program_path("perfleet") + "' ";
    const std::string data = " --data '" + (folder_ / "data") + "' ";
    for (const char* before : {"", "trap '' PIPE; "}) {
        for (const char* command : {"script", "top --format csv --by tid,symbol,address", "tree",
                                    "export --to folded -o -", "sessions", "losses", "export --to perf.data -o -"}) {
            for (const char* reader : {"head -n 1", "true"}) {
                const Finished finished =
                    run({"bash", "-c", before + program + command + data + "| " + reader + " > /dev/null"});
                EXPECT_EQ(finished.error_output.find("roken pipe"), std::string::npos)
                    << before << command << ": " << finished.error_output;
                EXPECT_EQ(finished.error_output.find("could be written"), std::string::npos) << finished.error_output;
            }
        }
    }
}

TEST_F(ExportProgram, ScriptPrintsWhatPerfScriptPrints) {
    perfleet({"record", "-e", "cpu-clock,sched:sched_process_exec,sched:sched_process_fork", "-g"},
             {"--", "sh", "-c", "for i in $(seq 50); do /bin/true; expr $i + 1 >/dev/null; done"});
    perfleet({"export", "--to", "perf.data", "-o", folder_ / "perf.data"});
    const auto script = [&](const std::vector<std::string>& options) {
        std::vector<std::string> command{program_path("perfleet"), "script", "--data", folder_ / "data"};
        command.insert(command.end(), options.begin(), options.end());
        const Finished finished = run(command);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        return finished.output;
    };
    const std::string whole = script({});
    EXPECT_NE(whole.find("sched:sched_process_exec: filename=/bin/true pid="), std::string::npos) << whole;
    EXPECT_EQ(named_lines_of(whole), named_lines_of(perf("script -i perf.data")));
    EXPECT_EQ(
        named_lines_of(script({"-G", "--ns", "-F", "comm,pid,tid,cpu,time,event,ip,sym,dso,period,trace"})),
        named_lines_of(perf("script -i perf.data -G --ns -F comm,pid,tid,cpu,time,event,ip,sym,dso,period,trace")));

    std::size_t exec_count = 0;
    std::size_t row_count = 0;
    for (const std::string& line : lines_of(script({"--format", "json"}))) {
        const auto row = nlohmann::json::parse(line);
        ++row_count;
        if (row["event"] == "sched:sched_process_exec") {
            ++exec_count;
            EXPECT_EQ(row["fields"]["pid"], row["pid"]) << line;
        }
        EXPECT_FALSE(row["callchain"].empty()) << line;
    }
    EXPECT_EQ(row_count, lines_of(perf("script -i perf.data -G -F time")).size());
    EXPECT_EQ(exec_count, 102U) << "sh, seq, and 50 of each";

    // The same from a query process.
    Process query({program_path("perfleet-query"), "--data", folder_ / "data", "--listen", "tcp://127.0.0.1:*"});
    const auto ready = query.wait_for_output("ready ");
    ASSERT_TRUE(ready.has_value()) << query.error_output();
    const Finished remote = run({program_path("perfleet"), "script", "--gateway", field_of(*ready, "query")});
    EXPECT_EQ(remote.ending.status, 0) << remote.error_output;
    EXPECT_EQ(remote.output, whole);
}

// Registers, recorded here and by perf, and other details of samples that come from perf alone.
TEST_F(ExportProgram, ScriptPrintsDetailsAsPerfScriptDoes) {
    const std::string work = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; ls / >/dev/null";
    perfleet({"record", "-q", "-e", "cpu-clock,page-faults", "-F", "4999", "-g", "-I", "--user-regs=sp,r12"},
             {"--", "sh", "-c", work});
    const auto script = [&](const std::string& fields, const std::string& form) {
        const Finished finished =
            run({program_path("perfleet"), "script", "--data", folder_ / "data", "-G", "--format", form, "-F", fields});
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        return finished.output;
    };
    const auto expect_as_perf = [&](const std::string& fields) {
        SCOPED_TRACE(fields);
        perfleet({"export", "--to", "perf.data", "--force", "-o", folder_ / "perf.data"});
        const std::string expected = perf("script -i perf.data -G -F " + fields);
        EXPECT_GT(lines_of(expected).size(), 20U);
        EXPECT_EQ(script(fields, "text"), expected);
        return expected;
    };
    const std::string registers = expect_as_perf("comm,tid,time,event,iregs,uregs");
    EXPECT_NE(registers.find(" ABI:2    AX:0x"), std::string::npos) << registers.substr(0, 1'000);
    (void)expect_as_perf("tid,time,ip");
    std::size_t user_count = 0;
    for (const std::string& line : lines_of(script("ip,iregs,uregs", "json"))) {
        const auto row = nlohmann::json::parse(line);
        EXPECT_EQ(row["iregs"].size(), 21U) << line;
        user_count += row["ip"] == row["iregs"]["IP"] && row["uregs"]["SP"] == row["iregs"]["SP"] ? 1 : 0;
    }
    EXPECT_GT(user_count, 20U) << "samples of the program itself";
    EXPECT_EQ(run({program_path("perfleet"), "script", "--data", folder_ / "data", "-F", "addr"}).ending.status, 2);

    // The address of each fault; registers without a call chain don't make one.
    perfleet({"record", "-q", "-e", "page-faults", "-c", "1", "-d", "--user-regs=sp"}, {"--", "sh", "-c", work});
    (void)expect_as_perf("tid,time,event,addr,uregs");
    std::size_t address_count = 0;
    for (const std::string& line : lines_of(script("addr,ip", "json"))) {
        const auto row = nlohmann::json::parse(line);
        address_count += row["addr"] != "0x0" ? 1 : 0;
        EXPECT_FALSE(row.contains("callchain")) << line;
    }
    EXPECT_GT(address_count, 20U);

    for (const auto& [options, fields] : std::vector<std::pair<std::string, std::string>>{
             {"-W -d --phys-data -e cpu-clock -F 4999", "tid,time,addr,weight,phys_addr"},
             {"-e cpu-clock -F 4999 -g --intr-regs=ip,sp --user-regs=ip,bx", "tid,time,event,iregs,uregs"}}) {
        std::filesystem::remove_all(folder_ / "data");
        if (std::system(("perf record -q -o '" + (folder_ / "in.data") + "' " + options + " -- sh -c '" + work + "'")
                            .c_str()) != 0) {
            continue;  // the machine has none
        }
        const Finished imported =
            run({program_path("perfleet"), "import", folder_ / "in.data", "--data", folder_ / "data"});
        ASSERT_EQ(imported.ending.status, 0) << imported.error_output;
        EXPECT_EQ(expect_as_perf(fields), perf("script -i in.data -G -F " + fields));
    }
}

TEST_F(ExportProgram, RegistersThatSamplesDontHaveAreRefused) {
    const Finished finished = run({program_path("perfleet"), "record", "--data", folder_ / "data", "--intr-regs=ax,zz",
                                   "--", "touch", folder_ / "ran"});
    EXPECT_EQ(finished.ending.status, 2);
    EXPECT_NE(finished.error_output.find("--intr-regs: 'zz' is no register of samples; there are "), std::string::npos)
        << finished.error_output;
    const Finished of_bpf = run({program_path("perfleet"), "record", "--data", folder_ / "data", "-I", "--call-graph",
                                 "bpf", "--", "touch", folder_ / "ran"});
    EXPECT_NE(of_bpf.ending.status, 0);
    EXPECT_NE(of_bpf.error_output.find("samples are recorded with details"), std::string::npos) << of_bpf.error_output;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "ran"));
}

TEST_F(ExportProgram, ScriptRefusesFieldsThatItDoesntHave) {
    for (const auto& [fields, named] : std::vector<std::pair<std::string, std::string>>{
             {"comm,bogus", "bogus"}, {"comm,+ip", "+FIELD"}, {"comm,sym", "with ip"}}) {
        const Finished finished = run({program_path("perfleet"), "script", "-F", fields, "--data", folder_ / "data"});
        EXPECT_NE(finished.ending.status, 0);
        EXPECT_NE(finished.error_output.find(named), std::string::npos) << finished.error_output;
    }
}

// "SAMPLE events:     205303" behind "EVENT stats:".
std::uint64_t stat_of(const std::string& stats, const std::string& event, const std::string& record) {
    const std::size_t from = std::min(stats.find(event + " stats:"), stats.size());
    const std::size_t until = stats.find(" stats:", from + event.size() + 7);
    const std::string name = " " + record + " events:";
    const std::size_t at = stats.find(name, from);
    return at < until ? std::stoull(stats.substr(at + name.size())) : 0;
}

TEST_F(ExportProgram, SplitsLostSamplesByEvent) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "counts system calls: needs root";
    }
    constexpr std::uint64_t kCalls = 200'000;
    perfleet({"record", "-e", "cpu-clock,syscalls:sys_enter_getppid,syscalls:sys_exit_getppid", "--ring-pages", "1"},
             {"--", "sh", "-c",
              "kill -STOP $PPID; '" + workload_path("getppid_workload") + "' " + std::to_string(kCalls) +
                  "; kill -CONT $PPID"});
    perfleet({"export", "--to", "perf.data", "-o", folder_ / "perf.data"});
    const std::string stats = perf("report --stats -i perf.data");
    for (const char* event : {"syscalls:sys_enter_getppid", "syscalls:sys_exit_getppid"}) {
        const std::uint64_t lost = stat_of(stats, event, "LOST_SAMPLES");
        EXPECT_EQ(stat_of(stats, event, "SAMPLE") + lost, kCalls + 1) << "one is the shell's:" << stats;
        EXPECT_GT(lost, 0U) << stats;
    }
    EXPECT_NE(perf("script -i perf.data --show-lost-events").find("PERF_RECORD_LOST lost "), std::string::npos);
}

}  // namespace
}  // namespace perfleet::end_to_end::export_program_test
