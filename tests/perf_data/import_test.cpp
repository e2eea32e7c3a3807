// Data imported from perf are exported unchanged: recordings of the real perf, through a store, read by the real perf.
#include <sys/vfs.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "query-engine/statistic/testing/text_query.h"
#include "schemas/host/host_clock.h"
#include "tests/perf_data/import_fixture.h"

namespace perfleet {
namespace {

struct RecordingKind {
    const char* name;
    const char* options;
    bool is_of_all = false;   // other processes, too: their files may be replaced between two runs of perf
    const char* fields = "";  // of samples, beside perf's own choice
};

class ImportedFile : public ImportTest {
protected:
    // The part that is the same in every run of perf.
    static std::multiset<std::string> lines_of(const std::string& text) {
        std::multiset<std::string> lines;
        std::stringstream stream{text};
        for (std::string line; std::getline(stream, line);) {
            if (!line.starts_with("# (Tip") && !line.empty()) {
                lines.insert(line);
            }
        }
        return lines;
    }
};

class RoundTrip : public ImportedFile, public testing::WithParamInterface<RecordingKind> {};

TEST_P(RoundTrip, PerfShowsTheSame) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf isn't installed (apt install linux-perf)";
    }
    const RecordingKind& kind = GetParam();
    const bool is_pipe = std::string_view{kind.options}.find("-o -") != std::string_view::npos;
    constexpr const char* kWork = " -- sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; ls / >&2'";
    const Said recorded = perf(std::string{"record -q "} + kind.options + (is_pipe ? "" : " -o in.data") + kWork);
    if (recorded.status != 0) {
        GTEST_SKIP() << "perf can't record this here: " << recorded.errors;
    }
    if (is_pipe) {
        std::filesystem::rename(path("out"), path("in.data"));
    }
    const auto session = imported();
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->sample_count > 0, !perf("script -i in.data").output.empty());
    EXPECT_EQ(session->warnings, std::vector<std::string>{});
    exported({}, "out.data");

    const std::string script =
        kind.is_of_all ? "script --ns -F comm,tid,cpu,time,period,event,ip -i " : "script --ns -i ";
    EXPECT_EQ(perf(script + "in.data").output, perf(script + "out.data").output);
    const std::string report =
        std::string{"report --stdio -n --no-children -g none "} + (kind.is_of_all ? "--sort comm,dso -i " : "-i ");
    EXPECT_EQ(lines_of(perf(report + "in.data").output), lines_of(perf(report + "out.data").output));
    const std::string events = perf("evlist -v -i in.data").output;
    if (events.find("unknown tracepoint") == std::string::npos) {  // as perf has it for pipes
        EXPECT_EQ(events, perf("evlist -v -i out.data").output);
    }
    if (*kind.fields != '\0') {
        const std::string with_fields = std::string{"script --ns --no-inline -F "} + kind.fields + " -i ";
        const std::string before_fields = perf(with_fields + "in.data").output;
        EXPECT_NE(before_fields, "");
        EXPECT_EQ(before_fields, perf(with_fields + "out.data").output);
    }
    const auto before = lines_of(perf("buildid-list -i in.data").output);
    const auto after = lines_of(perf("buildid-list -i out.data").output);
    for (const std::string& line : before) {
        // perf takes its own vdso for any; of a recording without build-ids it prints names alone. Files that no sample
        // lies in aren't exported.
        if (line.find("[vdso]") == std::string::npos && line.front() != ' ' &&
            std::string_view{kind.options}.find("--buildid-all") == std::string_view::npos) {
            EXPECT_TRUE(after.contains(line)) << line;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    OfPerf, RoundTrip,
    testing::Values(
        RecordingKind{"clock", "-e cpu-clock -F 2000"}, RecordingKind{"callchains", "-e cpu-clock -F 2000 -g"},
        RecordingKind{"whole_machine", "-e cpu-clock -F 499 -a -g", true},
        RecordingKind{"several_events", "-e cpu-clock/period=500000/,page-faults/period=10/"},
        RecordingKind{"group", "-e '{cpu-clock,page-faults}' -g"},
        RecordingKind{"counts_of_a_group",
                      "-e '{cpu-clock,page-faults,context-switches}:S' -F 999 --user-regs=ip,sp -g", false,
                      "+uregs,+period"},
        RecordingKind{"tracepoints", "-e syscalls:sys_enter_openat,sched:sched_switch,cpu-clock"},
        RecordingKind{"compressed", "-z -e cpu-clock -F 2000 -g"},
        RecordingKind{"pipe", "-e cpu-clock -F 2000 -g -o -"},
        RecordingKind{"pipe_of_tracepoints", "-e syscalls:sys_enter_openat,cpu-clock -o -"},
        RecordingKind{"clock_id", "-k CLOCK_MONOTONIC -e cpu-clock -F 999"},
        RecordingKind{"data_addresses", "-d -e cpu-clock -F 999", false, "+addr,+data_src"},
        RecordingKind{"weights", "-W -d --phys-data -e cpu-clock -F 999", false, "+addr,+weight,+phys_addr"},
        RecordingKind{"registers", "-e cpu-clock -F 999 --intr-regs=ip,sp --user-regs=ip,sp", false, "+iregs,+uregs"},
        RecordingKind{"threads", "--threads -e cpu-clock -F 2000 -g"},
        RecordingKind{"threads_compressed", "--threads -z -e cpu-clock/period=500000/,page-faults/period=10/"},
        RecordingKind{"cgroups", "--all-cgroups -e cpu-clock -F 999"},
        RecordingKind{"namespaces_and_switches", "--namespaces --switch-events -e cpu-clock -F 999"},
        RecordingKind{"every_fault", "-e page-faults -c 1 -g"},
        RecordingKind{"every_switch", "-e context-switches -c 1 -g"},
        RecordingKind{"rare_events", "-e minor-faults,major-faults,cpu-migrations,alignment-faults -c 1"},
        RecordingKind{"without_samples_of_one", "-e dummy,cpu-clock -F 999"},
        RecordingKind{"without_samples", "-n -e cpu-clock -c 100000000000"},
        RecordingKind{"per_thread", "--per-thread -e cpu-clock -F 2000"},
        RecordingKind{"not_inherited", "-i -e cpu-clock -F 2000"},
        RecordingKind{"one_cpu", "-a -C 0 -e cpu-clock -F 499", true},
        RecordingKind{"user_alone", "-e cpu-clock:u -F 2000 -g"},
        RecordingKind{"kernel_alone", "-e cpu-clock:k -F 9000 -g"},
        RecordingKind{"user_and_kernel_apart", "-e cpu-clock:u,cpu-clock:k -F 5000"},
        RecordingKind{"chains_of_users", "--user-callchains -g -e cpu-clock -F 5000"},
        RecordingKind{"chains_of_the_kernel", "--kernel-callchains -g -e cpu-clock -F 5000"},
        RecordingKind{"chains_of_one_event", "-g -e cpu-clock/call-graph=no/,page-faults/call-graph=fp,period=5/"},
        RecordingKind{"short_chains", "-g -e cpu-clock/max-stack=3/ -F 2000"},
        RecordingKind{"names_of_their_own", "-e cpu-clock/name=ticks,period=500000/,page-faults/name=faults,period=3/"},
        RecordingKind{"identifiers", "--sample-identifier -e cpu-clock,page-faults -F 999"},
        RecordingKind{"times_and_cpus", "-T --sample-cpu -e cpu-clock -F 999", false, "+cpu"},
        RecordingKind{"page_sizes", "--code-page-size --data-page-size -d -e cpu-clock -F 999", false,
                      "+code_page_size,+data_page_size"},
        RecordingKind{"all_registers", "--user-regs --intr-regs -e cpu-clock -F 999", false, "+uregs,+iregs"},
        RecordingKind{"build_ids_in_mappings", "--buildid-mmap -e cpu-clock -F 999 -g"},
        RecordingKind{"all_build_ids", "--buildid-all -e cpu-clock -F 999"},
        RecordingKind{"no_build_ids", "-B -e cpu-clock -F 999"},
        RecordingKind{"boot_time", "-k boottime -e cpu-clock -F 999"},
        RecordingKind{"real_time", "-k CLOCK_REALTIME -e cpu-clock -F 999"},
        RecordingKind{"overwritten", "--overwrite -e cpu-clock -F 999"},
        RecordingKind{"tail_synthesized", "--tail-synthesize -e cpu-clock -F 999"},
        RecordingKind{"limited_size", "--max-size=20K -e cpu-clock -F 9000"},
        RecordingKind{"filtered_tracepoints", "-e syscalls:sys_enter_openat --filter 'flags == 524288' -g"},
        RecordingKind{"all_system_calls", "-e 'raw_syscalls:*' -c 5"},
        RecordingKind{"compressed_pipe", "-z -e cpu-clock -F 2000 -g -o -"},
        RecordingKind{"pipe_of_a_group", "-e '{cpu-clock,page-faults}' -o -"},
        RecordingKind{"pipe_of_the_machine", "-a -e cpu-clock -F 499 -o -", true}),
    [](const auto& kind) { return std::string{kind.param.name}; });

// They are unwound at the import: an export has the call chains, and perf needs no file to show them.
TEST_F(ImportedFile, CopiedStacksAreUnwoundAndNotKept) {
    if (!perf_is_here() || perf("record -q --call-graph dwarf -e cpu-clock -F 2000 -o in.data -- "
                                "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; ls / >&2'")
                                   .status != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    const auto session = imported();
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->warnings,
              std::vector{"not kept: STACK_USER of " + std::to_string(session->sample_count) + " samples"});
    exported({}, "out.data");
    for (const char* const view :
         {"script --ns -F comm,tid,cpu,time,event,period -i ", "report --stdio -n --no-children -g none -i "}) {
        EXPECT_EQ(lines_of(perf(std::string{view} + "in.data").output),
                  lines_of(perf(std::string{view} + "out.data").output));
    }
    const auto frames = [this](const char* file) {
        return count_of(perf(std::string{"script --no-inline -F ip,dso -i "} + file).output, "(");
    };
    EXPECT_GT(frames("out.data"), frames("in.data") * 9 / 10);
    EXPECT_LT(std::filesystem::file_size(path("out.data")) * 4, std::filesystem::file_size(path("in.data")));
}

TEST_F(ImportedFile, ThatGzipHasCompressedIsTheSame) {
    if (!perf_is_here() || perf("record -q -e cpu-clock -F 2000 -o in.data -- ls /").status != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    const auto plain = imported();
    ASSERT_TRUE(plain.ok()) << plain.error().message;
    const std::string pack = "cd '" + path("") +
                             "' && head -c 5000 in.data | gzip > a.gz && tail -c +5001 in.data | "
                             "gzip > b.gz && cat a.gz b.gz > in.gz && touch -r in.data in.gz";
    ASSERT_EQ(std::system(pack.c_str()), 0);
    const auto packed = imported({}, "in.gz");
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    EXPECT_EQ(packed->session, plain->session);
    EXPECT_EQ(packed->batches_stored, 0U);
    std::filesystem::resize_file(path("in.gz"), std::filesystem::file_size(path("in.gz")) - 20);
    const auto cut = imported({}, "in.gz");
    ASSERT_FALSE(cut.ok());
    EXPECT_NE(cut.error().message.find("gzip data is damaged or ends too early"), std::string::npos)
        << cut.error().message;
}

// By a real kill, and with names, because the files are this machine's.
TEST_F(ImportedFile, OfAKilledRecorderHasItsSamplesAndNames) {
    const std::string record = "cd '" + path("") +
                               "' && { perf record -q -m 1 -e cpu-clock -F 2000 -o in.data -- sh -c 'echo $$ > pid; "
                               "i=0; while [ $i -lt 50000000 ]; do i=$((i+1)); done' & for i in $(seq 600); do "
                               "[ $(stat -c %s in.data || echo 0) -gt 20000 ] && break; sleep 0.1; done; "
                               "kill -KILL $!; kill -KILL $(cat pid); } 2>/dev/null";
    if (!perf_is_here() || std::system(record.c_str()) != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    const auto session = imported();
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_GT(session->sample_count, 100U);
    ASSERT_EQ(session->warnings.size(), 1U);
    EXPECT_EQ(session->warnings[0].find("the recording was never finished"), 0U) << session->warnings[0];
    exported({}, "out.data");
    const std::string script = perf("script -F comm,ip,dso -i out.data").output;
    EXPECT_GT(count_of(script, "/dash)"), session->sample_count / 4) << script.substr(0, 2'000);
    struct statfs system {};
    constexpr long kOverlay = 0x794c7630;  // whose mappings have the numbers of another file system
    if (::statfs("/bin/sh", &system) == 0 && system.f_type != kOverlay) {
        EXPECT_NE(perf("buildid-list -i out.data").output.find("/dash"), std::string::npos);
    }
}

// Ids of events are numbers of 64 bits, as long as the machine runs: each of a file is made a large one.
TEST_F(ImportedFile, LargeIdsOfEventsComeInAsSmallOnes) {
    if (!perf_is_here() ||
        perf("record -q --sample-identifier -e cpu-clock,page-faults -F 2000 -o small.data -- ls /").status != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    std::string bytes = content_of(path("small.data"));
    const auto word = [&](std::uint64_t at) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof(value));
        return value;
    };
    constexpr std::uint64_t kAttrSize = 16;
    constexpr std::uint64_t kAttrs = 24;  // their place, and their size
    std::set<std::uint64_t> ids;
    for (std::uint64_t attr = word(kAttrs); attr < word(kAttrs) + word(kAttrs + 8); attr += word(kAttrSize)) {
        const std::uint64_t place = attr + word(kAttrSize) - 16;
        for (std::uint64_t at = word(place); at < word(place) + word(place + 8); at += 8) {
            ids.insert(word(at));
        }
    }
    std::size_t changed = 0;
    for (std::uint64_t at = 0; at + 8 <= bytes.size(); at += 4) {
        if (const std::uint64_t id = word(at); ids.contains(id)) {
            const std::uint64_t large = id + 0x7fff'fff1'0000'0000;
            std::memcpy(bytes.data() + at, &large, sizeof(large));
            ++changed;
        }
    }
    std::ofstream{path("in.data"), std::ios::binary} << bytes;
    const std::string script = perf("script --ns -i in.data").output;
    ASSERT_EQ(script, perf("script --ns -i small.data").output);
    const auto session = imported();
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->warnings, std::vector<std::string>{});
    EXPECT_GT(changed, ids.size() + session->sample_count);
    exported({}, "out.data");
    EXPECT_EQ(perf("script --ns -i out.data").output, script);
    EXPECT_EQ(perf("evlist -v -i out.data").output, perf("evlist -v -i in.data").output);
}

TEST_F(ImportedFile, EventsOfOneNameComeOutAsTheyWere) {
    if (!perf_is_here() || perf("record -q -e cpu-clock -e cpu-clock -F 999 -o in.data -- ls /").status != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    const auto session = imported();
    ASSERT_TRUE(session.ok()) << session.error().message;
    ASSERT_EQ(session->warnings.size(), 1U);
    exported({}, "out.data");
    EXPECT_EQ(perf("evlist -v -i in.data").output, perf("evlist -v -i out.data").output);
    EXPECT_EQ(perf("script --ns -F comm,event,time,ip -i in.data").output,
              perf("script --ns -F comm,event,time,ip -i out.data").output);
}

TEST_F(ImportedFile, ComesInOnce) {
    if (!perf_is_here() || perf("record -q -e cpu-clock -o in.data -- true").status != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    const auto first = imported();
    ASSERT_TRUE(first.ok()) << first.error().message;
    const auto again = imported();
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->session, first->session);
    EXPECT_EQ(again->batches_stored, 0U);
    EXPECT_EQ(again->batches_there, first->batches_stored);
}

// Of a machine whose clock is ahead of the one by which its file was written here: nothing of it lies in the future.
TEST_F(ImportedFile, OfAClockThatIsAheadKeepsAllItsSamples) {
    if (!perf_is_here() || perf("record -q -k CLOCK_MONOTONIC -e cpu-clock -F 2000 -o in.data -- ls /").status != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    const auto all = imported();
    ASSERT_TRUE(all.ok()) << all.error().message;
    EXPECT_TRUE(all->warnings.empty()) << all->warnings[0];

    namespace fs = std::filesystem;
    store_ = make_memory_store();
    fs::last_write_time(path("in.data"), fs::last_write_time(path("in.data")) + std::chrono::minutes{5});
    RecordingImport before;
    before.now = UtcNs{utc_now().value - std::int64_t{300} * 1'000'000'000};
    const auto ahead = imported(before);
    ASSERT_TRUE(ahead.ok()) << ahead.error().message;
    EXPECT_EQ(ahead->sample_count, all->sample_count);
    ASSERT_EQ(ahead->warnings.size(), 1U);
    EXPECT_EQ(ahead->warnings[0].find("it ends "), 0U) << ahead->warnings[0];
    before.now = UtcNs{before.now.value + std::int64_t{20} * 1'000'000'000};
    const auto again = imported(before);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->session, ahead->session);
    EXPECT_EQ(again->batches_stored, 0U) << "a file comes in once, whenever it does";
}

TEST_F(ImportedFile, IsExportedToAPipeAsToAFile) {
    if (!perf_is_here() ||
        perf("record -q -e cpu-clock,sched:sched_switch -F 999 -g -o in.data -- sh -c 'ls / >&2'").status != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    ASSERT_TRUE(imported().ok());
    exported({}, "out.data");
    exported({}, "pipe.data", {.is_pipe = true});
    const std::string fields = "script --ns -F comm,tid,time,event,trace,ip,sym,symoff,dso -i ";
    const std::string script = perf(fields + "out.data").output;
    EXPECT_FALSE(script.empty());
    EXPECT_EQ(perf(fields + "pipe.data").output, script);
}

TEST_F(ImportedFile, OfSeveralTargetsHasPidsOfEach) {
    if (!perf_is_here() || perf("record -q -e cpu-clock -F 999 -o in.data -- "
                                "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'")
                                   .status != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    RecordingImport options;
    options.target_name = "left";
    const auto left = imported(options);
    ASSERT_TRUE(left.ok()) << left.error().message;
    options.target_name = "right";
    ASSERT_TRUE(imported(options).ok());
    const auto refused = try_export();
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("--merge-targets"), std::string::npos) << refused.error().message;
    EXPECT_EQ(exported({}, "out.data", {.merges_targets = true}).sample_count, 2 * left->sample_count);
    const std::string script = perf("script -F comm,pid,ip,sym -i out.data").output;
    EXPECT_EQ(count_of(script, "left/"), left->sample_count) << script;
    EXPECT_EQ(count_of(script, "right/"), left->sample_count) << script;
    std::multiset<std::string> symbols[2];
    std::stringstream lines{script};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t address = line.find_last_of(' ');
        symbols[line.find("right/") != std::string::npos ? 1 : 0].insert(line.substr(address));
    }
    EXPECT_EQ(symbols[0], symbols[1]);
}

// perf prints the same table; of intervals their sum.
TEST_F(ImportedFile, CountersAreThoseOfPerfStat) {
    for (const char* const options : {"", "-a ", "-I 20 "}) {
        std::filesystem::remove(path("in.data"));
        if (!perf_is_here() || perf(std::string{"stat record "} + options +
                                    "-e cpu-clock,page-faults,context-switches -o in.data -- "
                                    "sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; sleep 0.1'")
                                       .status != 0) {
            GTEST_SKIP() << "perf can't count here";
        }
        const auto session = imported();
        ASSERT_TRUE(session.ok()) << session.error().message;
        EXPECT_EQ(session->warnings, std::vector<std::string>{});
        Selection selection;
        selection.session = session_hex(session->session);
        exported(selection, "out.data");
        const auto table = [this](const char* file, const char* how = "") {
            std::stringstream text{perf(std::string{"stat report "} + how + "-i " + file).errors};
            std::vector<std::string> lines;
            for (std::string line; std::getline(text, line);) {
                const bool is_count = line.find("cpu-clock") != std::string::npos ||
                                      line.find("page-faults") != std::string::npos ||
                                      line.find("context-switches") != std::string::npos;
                if (is_count && line.find("counter stats for") == std::string::npos) {
                    lines.push_back(line);
                }
            }
            return lines;
        };
        EXPECT_EQ(table("out.data").size(), 3U);
        if (std::string_view{options}.find("-I") == std::string_view::npos) {
            EXPECT_EQ(table("in.data"), table("out.data"));
            if (*options != '\0') {
                EXPECT_EQ(table("in.data", "-A "), table("out.data", "-A "));  // by CPU
                EXPECT_GE(table("in.data", "-A ").size(), 3U);
            }
        } else {
            EXPECT_GT(table("in.data").size(), 3U);
        }
        EXPECT_EQ(perf("report --stdio -i out.data").status, perf("report --stdio -i in.data").status);
    }
}

// Context switches, namespaces and cgroups, of a process and of the whole machine.
TEST_F(ImportedFile, OtherRecordsComeOutAsTheyWere) {
    for (const char* const options : {"", "-a "}) {
        std::filesystem::remove(path("in.data"));
        store_ = make_memory_store();
        if (!perf_is_here() || perf(std::string{"record -q -e cpu-clock -F 999 --switch-events --namespaces "
                                                "--all-cgroups -o in.data "} +
                                    options + "-- sh -c 'sleep 0.01; ls / >&2'")
                                       .status != 0) {
            GTEST_SKIP() << "perf can't record here";
        }
        const auto session = imported();
        ASSERT_TRUE(session.ok()) << session.error().message;
        EXPECT_EQ(session->warnings, std::vector<std::string>{});
        exported({}, "out.data");
        const auto switches = [this](const char* file) {
            std::multiset<std::string> found;
            for (const std::string& line : lines_of(
                     perf(std::string{"script --ns --show-switch-events -F comm,tid,time,event -i "} + file).output)) {
                if (line.find("PERF_RECORD_SWITCH") != std::string::npos) {
                    found.insert(line);
                }
            }
            return found;
        };
        EXPECT_FALSE(switches("in.data").empty());
        EXPECT_EQ(switches("in.data"), switches("out.data"));
        // Without the time, which records that perf makes itself don't have.
        const auto others = [this](const char* file) {
            std::set<std::string> found;  // perf and the kernel may report the same
            for (const std::string& line :
                 lines_of(perf(std::string{"script --show-namespace-events --show-cgroup-events -F event -i "} + file)
                              .output)) {
                const std::size_t record = line.find("PERF_RECORD_");
                if (record != std::string::npos || line.starts_with("\t")) {  // inodes follow on lines of their own
                    found.insert(line.substr(record == std::string::npos ? 0 : record));
                }
            }
            return found;
        };
        const auto before = others("in.data");
        EXPECT_GT(std::count_if(before.begin(), before.end(),
                                [](const std::string& line) { return line.find("/mnt: ") != std::string::npos; }),
                  0);
        EXPECT_EQ(before, others("out.data"));
    }
}

// What threads have counted until their end (perf record -s).
TEST_F(ImportedFile, CountsOfThreadsComeOutAsTheyWere) {
    if (!perf_is_here() ||
        perf("record -q -s -c 7 -e page-faults,context-switches -o in.data -- sh -c 'ls / >&2; ls /usr >&2'").status !=
            0) {
        GTEST_SKIP() << "perf can't record here";
    }
    const auto session = imported();
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ(session->warnings, std::vector<std::string>{});
    exported({}, "out.data");
    const std::string report = perf("report --stdio -T -i in.data").output;
    EXPECT_GT(count_of(report, " TID "), 0U) << report;
    EXPECT_EQ(lines_of(report), lines_of(perf("report --stdio -T -i out.data").output));
    const auto counters = run_text_query("counters", {}, *store_, SymbolPaths{}, UtcNs{0});
    ASSERT_TRUE(counters.ok()) << counters.error().message;
    EXPECT_EQ(counters->rows.size(), 2U);
}

// perf finds the files of data by mappings without code.
TEST_F(ImportedFile, AddressesOfDataHaveTheirMappings) {
    if (!perf_is_here() || perf("record -q -d -c 1 -e page-faults -o in.data -- sh -c 'ls / >&2'").status != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    const auto session = imported();
    ASSERT_TRUE(session.ok()) << session.error().message;
    exported({}, "out.data");
    const std::string report = perf("mem report --stdio -i in.data").output;
    EXPECT_NE(report.find("anon"), std::string::npos) << report;
    EXPECT_EQ(lines_of(report), lines_of(perf("mem report --stdio -i out.data").output));
}

// Names of cgroups and of namespaces are known from before.
TEST_F(ImportedFile, ATimeRangeHasTheRecordsThatHoldOn) {
    if (!perf_is_here() || perf("record -q -e cpu-clock -F 999 -d --namespaces --all-cgroups -o in.data -- "
                                "sh -c 'i=0; while [ $i -lt 90000 ]; do i=$((i+1)); done'")
                                   .status != 0) {
        GTEST_SKIP() << "perf can't record here";
    }
    ASSERT_TRUE(imported().ok());
    const ExportSummary whole = exported({}, "out.data");
    Selection late;
    late.from = UtcNs{(whole.first_time.value + whole.last_time.value) / 2};
    EXPECT_LT(exported(late, "late.data").sample_count, whole.sample_count);
    const auto count = [this](const char* file, const char* what) {
        return count_of(perf(std::string{"script --show-mmap-events --show-namespace-events --show-cgroup-events "
                                         "-F event -i "} +
                             file)
                            .output,
                        what);
    };
    for (const char* const what : {"PERF_RECORD_NAMESPACES", "PERF_RECORD_CGROUP"}) {
        EXPECT_GT(count("late.data", what), 0U) << what;
        EXPECT_EQ(count("late.data", what), count("in.data", what)) << what;
    }
    EXPECT_GT(count("late.data", ": rw-p "), 0U);
}

}  // namespace
}  // namespace perfleet
