// kernel-entries, utilisation and tracepoints: from a kernel's bytes to the answer, through the store.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>

#include "exporters/report/report.h"
#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "tests/golden/golden_file.h"
#include "tools/perfleet/import/imported_run.h"
#include "tools/perfleet/import/run_store.h"
#include "tools/perfleet/import/testing/import_fixture.h"

namespace perfleet::kernel_tables_test {
namespace {

std::string little_endian(std::uint64_t value, unsigned size_bytes) {
    std::string bytes;
    for (unsigned i = 0; i < size_bytes; ++i) {
        bytes += static_cast<char>(value >> (8 * i) & 0xff);
    }
    return bytes;
}

// Paths of version 14.0.0 and later.
constexpr std::uint64_t kInterrupt = 1;
constexpr std::uint64_t kUserLevelFault = 3;
constexpr std::uint64_t kVmFault = 5;
constexpr std::uint64_t kSyscall = 6;

struct MadeEntry {
    std::uint64_t start;
    std::uint64_t duration;
    std::uint64_t path;
    std::uint64_t detail;
};

std::uint64_t syscall(std::uint64_t number, std::uint64_t cap_type, bool is_fastpath, std::uint64_t tag) {
    return number | cap_type << 4 | std::uint64_t{is_fastpath} << 9 | tag << 10;
}
std::uint64_t word(std::uint64_t core, std::uint64_t value) { return core | value << 3; }

// Two calls, one of them on the fast path, an invocation, two interrupts, a fault of each kind.
const std::vector<MadeEntry>& made_entries() {
    static const std::vector<MadeEntry> kEntries{
        {1'000, 100, kSyscall, syscall(1, 4, true, 0)}, {1'200, 300, kSyscall, syscall(1, 4, false, 7)},
        {1'600, 50, kInterrupt, word(0, 27)},           {1'700, 900, kSyscall, syscall(3, 12, false, 12)},
        {2'700, 70, kInterrupt, word(1, 79)},           {2'800, 130, kVmFault, word(0, 0x1234)},
        {2'950, 50, kUserLevelFault, word(0, 3)}};
    return kEntries;
}

ImportHints hints_of(std::uint64_t index) {
    ImportHints hints;
    hints.architecture = "aarch64";
    hints.kernel_version = "15.0.0";
    hints.log_index = index;
    hints.tracepoint_count = 8;
    return hints;
}

std::unique_ptr<Store> stored_entries(const std::vector<MadeEntry>& entries, const ImportHints& hints) {
    std::string bytes;
    for (const MadeEntry& entry : entries) {
        bytes += little_endian(entry.start, 8) + little_endian(entry.duration, 4) + little_endian(entry.path, 1) +
                 little_endian(entry.detail, 4) + std::string(7, '\0');
    }
    return stored(read_sel4_entries(bytes, hints));
}

std::unique_ptr<Store> stored_tracepoints(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& records) {
    std::string bytes;
    for (const auto& [id, duration] : records) {
        bytes += little_endian(id, 8) + little_endian(duration, 8);
    }
    return stored(read_sel4_tracepoints(bytes, hints_of(records.size())));
}

Answer ask(const std::string& command, const Store& store, const OptionTexts& options = {}) {
    auto answer = run_text_query(command, options, store, {}, kImportTime);
    EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message);
    return answer.ok() ? std::move(*answer) : Answer{};
}

// What a person reads, without what only says whose it is.
using Table = std::vector<std::vector<std::string>>;
Table table_of(const Answer& answer, const std::vector<std::string>& columns) {
    Table table;
    for (const auto& row : answer.rows) {
        std::vector<std::string>& cells = table.emplace_back();
        for (const std::string& name : columns) {
            const auto column = std::find_if(answer.columns.begin(), answer.columns.end(),
                                             [&](const AnswerColumn& one) { return one.name == name; });
            EXPECT_NE(column, answer.columns.end()) << name;
            if (column == answer.columns.end()) {
                continue;
            }
            Answer one;
            one.columns = {{"x", column->unit == "percent" ? "percent" : ""}};
            one.rows = {{row[static_cast<std::size_t>(column - answer.columns.begin())]}, {std::string{"end"}}};
            const std::string text = format_report(one, ReportFormat::kText);
            const std::size_t start = text.find('\n') + 1;
            cells.push_back(text.substr(start, text.find('\n', start) - start));
        }
    }
    return table;
}

TEST(KernelEntries, AreSummedUpAsTheKernelsUtilityDoes) {
    const auto store = stored_entries(made_entries(), hints_of(7));
    const Answer answer = ask("kernel-entries", *store);
    EXPECT_EQ(table_of(answer, {"kernel", "entries", "syscalls", "fastpaths", "interrupts", "user_level_faults",
                                "vm_faults", "saturated", "lost_after"}),
              (Table{{"15.0.0", "7", "3", "1", "2", "1", "1", "no", "none"}}));
    // 1,600 of the 2,000 cycles from 1,000 to 3,000.
    EXPECT_EQ(table_of(answer, {"kernel_time", "window", "kernel_share"}), (Table{{"1600", "2000", "80.00%"}}));
    EXPECT_EQ(answer.ledger.produced, 7U);
    EXPECT_EQ(answer.ledger.stored, 7U);
}

TEST(KernelEntries, EverySyscallHasItsRow) {
    const auto store = stored_entries(made_entries(), hints_of(7));
    EXPECT_EQ(table_of(ask("kernel-entries", *store, {{"table", "syscalls"}}),
                       {"log_id", "syscall_id", "syscall", "start", "duration", "cap_type", "cap", "tag", "fastpath"}),
              (Table{{"0", "1", "Call", "1000", "100", "4", "endpoint", "0", "yes"},
                     {"1", "1", "Call", "1200", "300", "4", "endpoint", "7", "no"},
                     {"3", "3", "Send", "1700", "900", "12", "thread", "12", "no"}}));
    const Answer one = ask("kernel-entries", *store, {{"table", "syscalls"}, {"limit", "1"}});
    EXPECT_EQ(one.rows.size(), 1U);
    EXPECT_TRUE(warns_of(one, "the first 1 of 3 rows"));
}

TEST(KernelEntries, EveryInterruptHasItsRow) {
    const auto store = stored_entries(made_entries(), hints_of(7));
    EXPECT_EQ(
        table_of(ask("kernel-entries", *store, {{"table", "interrupts"}}), {"log_id", "irq", "start", "duration"}),
        (Table{{"2", "27", "1600", "50"}, {"4", "79", "2700", "70"}}));
}

TEST(KernelEntries, NumbersMeanWhatTheirKernelMeant) {
    // The number of a VM fault since 14.0.0 is that of a syscall before; MCS kernels have another third system call.
    ImportHints hints = hints_of(1);
    hints.kernel_version = "13.0.0";
    hints.is_mcs = true;
    const auto store = stored_entries({{10, 5, 5, syscall(3, 16, false, 1)}}, hints);
    EXPECT_EQ(table_of(ask("kernel-entries", *store, {{"table", "syscalls"}}), {"syscall", "cap"}),
              (Table{{"NBSendRecv", "irq_handler"}}));
}

TEST(KernelEntries, DurationsHaveTheirSpreadBesideTheirMean) {
    const auto store = stored_entries(made_entries(), hints_of(7));
    const std::vector<std::string> columns{"count", "min", "median", "p99", "max", "mean", "share"};
    const auto with = [&](const char* key) {
        std::vector<std::string> all{key};
        all.insert(all.end(), columns.begin(), columns.end());
        return all;
    };
    EXPECT_EQ(table_of(ask("kernel-entries", *store, {{"table", "durations"}}), with("path")),
              (Table{{"syscall", "3", "100", "300.00", "900", "900", "433.33", "81.25%"},
                     {"vm_fault", "1", "130", "130.00", "130", "130", "130.00", "8.13%"},
                     {"interrupt", "2", "50", "60.00", "70", "70", "60.00", "7.50%"},
                     {"user_level_fault", "1", "50", "50.00", "50", "50", "50.00", "3.13%"}}));
    EXPECT_EQ(table_of(ask("kernel-entries", *store, {{"by", "syscall"}, {"path", "syscall"}}), with("syscall")),
              (Table{{"Send", "1", "900", "900.00", "900", "900", "900.00", "69.23%"},
                     {"Call", "2", "100", "200.00", "300", "300", "200.00", "30.77%"}}));
    EXPECT_EQ(table_of(ask("kernel-entries", *store, {{"by", "cap"}, {"path", "syscall"}}), {"cap", "count"}),
              (Table{{"thread", "1"}, {"endpoint", "2"}}));
}

TEST(KernelEntries, AFullLogSaysThatNobodyKnowsWhatCameLater) {
    const std::vector<MadeEntry> entries(43'690, {5, 1, kInterrupt, 0});
    const Answer answer = ask("kernel-entries", *stored_entries(entries, hints_of(43'690)));
    EXPECT_EQ(table_of(answer, {"entries", "saturated", "lost_after"}), (Table{{"43690", "yes", "unknown"}}));
    EXPECT_TRUE(warns_of(answer, "their number is unknown"));
}

TEST(KernelEntries, FaultDeliveryIsTheTimeSinceTheUserNotedTheClock) {
    ImportHints hints = hints_of(7);
    // The second has two entries behind it; the third an entry that isn't its own first; nothing follows the last.
    hints.points = {{"before_fault", "2780\n2940\n9000\n"}};
    const auto store = stored_entries(made_entries(), hints);
    const Answer matches = ask("kernel-entries", *store, {{"table", "matches"}, {"since-event", "before_fault"}});
    EXPECT_EQ(table_of(matches, {"log_id", "path", "event", "start", "since"}),
              (Table{{"5", "vm_fault", "2780", "2800", "20"}, {"6", "user_level_fault", "2940", "2950", "10"}}));
    EXPECT_TRUE(warns_of(matches, "5 entries stand before any before_fault, 0 behind one"));
    EXPECT_TRUE(warns_of(matches, "no entry follows 1 of 3"));
    EXPECT_EQ(table_of(ask("kernel-entries", *store, {{"since-event", "before_fault"}, {"path", "vm_fault"}}),
                       {"path", "count", "min", "max"}),
              (Table{{"vm_fault", "1", "20", "20"}}));
    const auto unknown = run_text_query("kernel-entries", {{"since-event", "x"}}, *store, {}, kImportTime);
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
}

TEST(KernelEntries, MatchesEqualASearchThroughEverything) {
    std::mt19937_64 random{7};
    std::vector<MadeEntry> entries;
    std::string points;
    std::vector<std::uint64_t> events;
    for (std::uint64_t i = 0; i < 300; ++i) {
        entries.push_back({random() % 10'000, 1, random() % 8, 0});
        if (i % 3 == 0) {
            events.push_back(random() % 10'000);
            points += std::to_string(events.back()) + "\n";
        }
    }
    ImportHints hints = hints_of(entries.size());
    hints.points = {{"event", points}};
    // Each event's nearest entry of the path behind it, unless another event comes first.
    std::vector<std::uint64_t> expected;
    for (const std::uint64_t event : std::set<std::uint64_t>{events.begin(), events.end()}) {
        std::uint64_t nearest = ~0ULL;
        for (const MadeEntry& entry : entries) {
            if (entry.path == kVmFault && entry.start >= event) {
                nearest = std::min(nearest, entry.start);
            }
        }
        const bool has_other = std::any_of(events.begin(), events.end(),
                                           [&](std::uint64_t other) { return other > event && other <= nearest; });
        if (nearest != ~0ULL && !has_other) {
            expected.push_back(nearest - event);
        }
    }
    const auto store = stored_entries(entries, hints);
    const Answer answer =
        ask("kernel-entries", *store, {{"table", "matches"}, {"since-event", "event"}, {"path", "vm_fault"}});
    std::vector<std::uint64_t> since;
    for (const auto& row : answer.rows) {
        since.push_back(std::get<std::uint64_t>(row.back()));
    }
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(since, expected);
}

TEST(KernelEntries, OptionsThatMeanNothingTogetherAreRefused) {
    for (const OptionTexts& options :
         {OptionTexts{{"table", "x"}}, OptionTexts{{"by", "x"}}, OptionTexts{{"path", "x"}},
          OptionTexts{{"limit", "-1"}}, OptionTexts{{"table", "matches"}},
          OptionTexts{{"table", "syscalls"}, {"by", "cap"}}}) {
        const auto checked = run_text_query("kernel-entries", options, *make_memory_store(), {}, kImportTime);
        ASSERT_FALSE(checked.ok());
        EXPECT_EQ(checked.error().code, ErrorCode::kUsage);
    }
    EXPECT_FALSE(run_text_query("utilisation", {{"table", "summary"}}, *make_memory_store(), {}, kImportTime).ok());
}

std::string golden(const std::string& name) { return golden_file("sel4/" + name); }

// Total, then idle, then threads; as seL4_BenchmarkGetThreadUtilisation leaves them for each thread.
std::string utilisation_words(std::uint64_t total, std::uint64_t idle, const std::vector<std::uint64_t>& threads,
                              std::uint64_t total_schedules = 10) {
    std::string bytes;
    for (const std::uint64_t thread : threads) {
        for (const std::uint64_t value :
             {thread, std::uint64_t{3}, std::uint64_t{30}, std::uint64_t{13}, idle, idle, std::uint64_t{6},
              std::uint64_t{60}, std::uint64_t{16}, total, total_schedules, std::uint64_t{100}, std::uint64_t{110}}) {
            bytes += little_endian(value, 8);
        }
    }
    return bytes;
}

TEST(Utilisation, IsAShareOfTheTotal) {
    ImportHints hints;
    hints.thread_names = {"root"};
    const Answer answer =
        ask("utilisation", *stored(read_sel4_utilisation(utilisation_words(1'000, 600, {300}), hints)));
    EXPECT_EQ(table_of(answer, {"thread", "cycles", "share", "kernel_cycles", "kernel_share", "fault"}),
              (Table{{"root", "300", "30.00%", "30", "3.00%", "-"},
                     {"idle_thread", "600", "60.00%", "60", "6.00%", "-"},
                     {"others", "100", "10.00%", "-", "-", "-"},
                     {"total", "1000", "100.00%", "100", "10.00%", "-"}}));
    EXPECT_TRUE(warns_of(answer, "threads have 900 of 1000 cycles"));
}

TEST(Utilisation, OfThePrintedDumpAddsUpAndCountersBelow0AreNeverSummed) {
    const auto store = stored(read_utilisation(golden("utilisation_console.txt"), {}));
    const Answer first = ask("utilisation", *store, {{"select", "{window=\"1\"}"}});
    EXPECT_EQ(table_of(first, {"thread", "cycles", "share", "fault"}), (Table{{"busy \"1\"", "250000", "25.00%", "-"},
                                                                              {"rootserver", "150000", "15.00%", "-"},
                                                                              {"idle_thread", "600000", "60.00%", "-"},
                                                                              {"others", "0", "0.00%", "-"},
                                                                              {"total", "1000000", "100.00%", "-"}}));
    EXPECT_FALSE(warns_of(first, "threads have"));
    const Answer second = ask("utilisation", *store, {{"select", "{window=\"2\"}"}});
    EXPECT_EQ(table_of(second, {"thread", "cycles", "share", "fault"}), (Table{{"worker", "-1234", "-", "below 0"},
                                                                               {"idle_thread", "400000", "80.00%", "-"},
                                                                               {"others", "-", "-", "-"},
                                                                               {"total", "500000", "100.00%", "-"}}));
    EXPECT_TRUE(warns_of(second, "below 0"));
}

TEST(Utilisation, KnownFaultsHaveTheirNames) {
    const auto answer_of = [](const std::string& words) {
        return ask("utilisation", *stored(read_sel4_utilisation(words, {})));
    };
    const Answer late = answer_of(utilisation_words(1'000, 600, {7'000'000}));
    EXPECT_EQ(table_of(late, {"fault"})[0], Table{{"more than total"}}[0]);
    EXPECT_TRUE(warns_of(late, "ResetThreadUtilisation belongs before ResetLog"));
    const Answer none = answer_of(utilisation_words(123'456, 0, {0}, 0));
    EXPECT_TRUE(warns_of(none, "no window"));
    EXPECT_EQ(table_of(none, {"share", "fault"}).back(), Table({{"-", "no window"}})[0]);
    const Answer wrapped = answer_of(utilisation_words(1'000, 600, {(1ULL << 32) + 400}));
    EXPECT_TRUE(warns_of(wrapped, "2^32"));
    EXPECT_EQ(table_of(wrapped, {"share", "fault"}).back(), Table({{"-", "wrapped"}})[0]);
    // A kernel of 32 bits prints words.
    ImportHints hints;
    hints.architecture = "aarch32";
    std::string text = golden("utilisation_console.txt");
    text.replace(text.find("18446744073709550382"), 20, "4294966062");
    const Answer narrow = ask("utilisation", *stored(read_utilisation(text, hints)), {{"select", "{window=\"2\"}"}});
    EXPECT_EQ(table_of(narrow, {"cycles", "fault"})[0], Table({{"-1234", "below 0"}})[0]);
}

TEST(Tracepoints, ThatCarryAValueHaveFigures) {
    const auto store = stored_tracepoints({{0, 4}, {1, 22}, {0, 6}, {1, 22}});
    const Answer answer = ask("tracepoints", *store);
    EXPECT_EQ(table_of(answer, {"event", "rows", "min", "median", "max"}),
              (Table{{"tracepoint-0", "2", "4", "5.00", "6"}, {"tracepoint-1", "2", "22", "22.00", "22"}}));
    EXPECT_EQ(answer.ledger.stored, 4U);
}

TEST(Tracepoints, PartsOfAPathAreCombinedByTheirKeys) {
    const Answer answer = ask("tracepoints", *stored_tracepoints({{2, 30}, {3, 12}}), {{"combine", "2+3"}});
    EXPECT_EQ(table_of(answer, {"event", "count", "min", "max"}), (Table{{"2+3", "1", "42", "42"}}));
    // The second path has no part under key 3; another key lies between.
    const Answer more = ask("tracepoints", *stored_tracepoints({{3, 9}, {2, 30}, {5, 1}, {3, 12}, {2, 31}}),
                            {{"combine", "tracepoint-2+tracepoint-3"}});
    EXPECT_EQ(table_of(more, {"count", "min", "max"}), (Table{{"2", "31", "42"}}));
    EXPECT_TRUE(warns_of(more, "1 entry stands before the first"));
}

TEST(Tracepoints, OverheadOfSabreIsAsPublished) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> records;
    for (int i = 0; i < 740; ++i) {
        records.insert(records.end(), {{1, 4}, {0, 22}});
    }
    const Answer answer = ask("tracepoints", *stored_tracepoints(records), {{"overhead", "1,0"}});
    std::vector<std::string> names;
    for (const AnswerColumn& column : answer.columns) {
        names.push_back(column.name);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"overhead", "machine", "samples", "min", "max", "mean", "variance", "sd",
                                               "sd_percent"}));
    EXPECT_EQ(table_of(answer, names),
              (Table{{"total", "board", "740", "18", "18", "18.00", "0.00", "0.00", "0.00%"},
                     {"effective", "board", "740", "4", "4", "4.00", "0.00", "0.00", "0.00%"}}));
}

TEST(Tracepoints, EffectiveOverheadOfHaswellIsAsPublishedInTheLegacyMode) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> records;
    for (int i = 0; i < 740; ++i) {
        const std::uint64_t inner = i % 740 < 613 ? 208 : 212;
        records.insert(records.end(), {{1, inner}, {0, inner + 532}});
    }
    const auto store = stored_tracepoints(records);
    const std::vector<std::string> columns{"overhead", "samples", "min", "max", "mean", "variance", "sd", "sd_percent"};
    EXPECT_EQ(table_of(ask("tracepoints", *store, {{"overhead", "1,0"}, {"mode", "sel4bench-legacy"}}), columns)[1],
              (std::vector<std::string>{"effective", "740", "208", "212", "208.69", "2.75", "1.66", "1"}));
    EXPECT_EQ(table_of(ask("tracepoints", *store, {{"overhead", "1,0"}}), columns)[1],
              (std::vector<std::string>{"effective", "740", "208", "212", "208.69", "2.28", "1.51", "0.72%"}));
}

TEST(Tracepoints, OverheadOfTwoColumnsTakesThemLineByLine) {
    std::string text = "inner,outer\n";
    for (int i = 0; i < 740; ++i) {
        text += i < 613 ? "208,741\n" : "212,759\n";
    }
    const auto store = stored(read_columns(text, {}));
    const Answer answer = ask("tracepoints", *store, {{"overhead", "inner,outer"}});
    EXPECT_EQ(table_of(answer, {"overhead", "samples", "min", "max", "mean"}),
              (Table{{"total", "740", "533", "547", "535.40"}, {"effective", "740", "208", "212", "208.69"}}));
    EXPECT_FALSE(warns_of(answer, "no nested pair"));
}

TEST(Tracepoints, PairsThatAreNotNestedAreLeftOutAndCounted) {
    const Answer answer =
        ask("tracepoints", *stored_tracepoints({{1, 4}, {1, 4}, {0, 22}, {0, 30}, {1, 9}}), {{"overhead", "1,0"}});
    EXPECT_EQ(table_of(answer, {"samples", "mean"}), (Table{{"1", "18.00"}, {"1", "4.00"}}));
    EXPECT_TRUE(warns_of(answer, "3 entries are no nested pair"));
}

TEST(Tracepoints, AnEnclosingMeasurementIsCorrectedForThePairsInside) {
    // The measurement of Haswell2: 2,000 with two complete pairs inside.
    const auto store = stored_tracepoints({{1, 300}, {2, 310}, {0, 2'000}, {0, 1'000}});
    const Answer counted =
        ask("tracepoints", *store, {{"event", "tracepoint-0"}, {"correct", "208.69,550.33"}, {"inner", "1,2"}});
    EXPECT_EQ(table_of(counted, {"event", "count", "min", "max"}), (Table{{"tracepoint-0", "2", "690.65", "791.31"}}));
    const Answer fixed =
        ask("tracepoints", *store, {{"event", "tracepoint-0"}, {"correct", "208.69,550.33"}, {"inner-pairs", "2"}});
    EXPECT_EQ(table_of(fixed, {"min", "max"}), (Table{{"-309.35", "690.65"}}));
    EXPECT_TRUE(warns_of(fixed, "1 of 2 values are below 0"));
    // What is longer than the measurement was outside, and with it what was logged before.
    const Answer outside = ask("tracepoints", *stored_tracepoints({{1, 300}, {2, 3'000}, {1, 300}, {0, 2'000}}),
                               {{"event", "tracepoint-0"}, {"correct", "208.69,550.33"}, {"inner", "1,2"}});
    EXPECT_EQ(table_of(outside, {"count", "min"}), (Table{{"1", "1240.98"}}));
    EXPECT_TRUE(warns_of(outside, "not all pairs have times"));
}

TEST(Tracepoints, PairsBetweenTwoMeasurementsAreNotChargedToThem) {
    ImportedRun run;
    run.clock = ImportedClock{"ns"};
    const auto series = [&](const char* event, std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> rows) {
        ImportedSeries& one = run.series.emplace_back();
        one.kind = Kind::kTracepoint;
        one.event = event;
        one.unit = "ns";
        for (const auto& [end, duration] : rows) {
            one.rows.push_back(
                timed_row<Kind::kTracepoint>(end, column<ColumnId::kWeight>(1), column<ColumnId::kValue>(duration)));
        }
    };
    series("outer", {{2'000, 1'000}, {9'000, 1'000}});
    series("inner", {{1'500, 100}, {3'000, 100}, {4'000, 100}, {8'100, 50}, {8'500, 50}});
    const Answer answer =
        ask("tracepoints", *stored(std::vector{run}), {{"event", "outer"}, {"correct", "100,300"}, {"inner", "inner"}});
    EXPECT_EQ(table_of(answer, {"count", "min", "max"}), (Table{{"2", "300.00", "600.00"}}));
    EXPECT_FALSE(warns_of(answer, "not all pairs have times"));
}

TEST(Tracepoints, StartsAndStopsWithTimesMakePairs) {
    // An interrupted measurement starts again; the last has no stop.
    ImportHints hints = hints_of(0);
    hints.points = {{"start", "100\n200\n300\n900\n"}, {"stop", "150\n340\n350\n"}};
    const Answer answer = ask("latency", *stored_entries({}, hints), {{"pair", "start,stop"}});
    EXPECT_EQ(table_of(answer, {"event", "count", "min", "max"}), (Table{{"start to stop", "2", "40", "50"}}));
    EXPECT_TRUE(warns_of(answer, "2 of 4 starts and 1 of 3 stops"));
    const Answer skipped = ask("latency", *stored_entries({}, hints), {{"pair", "start,stop"}, {"skip", "1"}});
    EXPECT_EQ(table_of(skipped, {"count", "min"}), (Table{{"1", "40"}}));
    const Answer histogram =
        ask("latency", *stored_entries({}, hints), {{"pair", "start,stop"}, {"histogram", "log2"}});
    EXPECT_EQ(histogram.rows.size(), 1U) << "32 to 63";
}

TEST(Tracepoints, OfAFullLogSayThatAnyIdMayHaveMore) {
    std::string bytes;
    for (std::uint64_t i = 0; i < 65'536; ++i) {
        bytes += little_endian(i % 2, 8) + little_endian(7, 8);
    }
    const auto store = stored(read_sel4_tracepoints(bytes, hints_of(70'000)));
    const Answer all = ask("tracepoints", *store);
    EXPECT_EQ(all.ledger.produced, 70'000U);
    EXPECT_EQ(all.ledger.lost.at("saturated"), 4'464U);
    EXPECT_TRUE(warns_of(ask("tracepoints", *store, {{"event", "tracepoint-1"}}), "whichever id they had"));
}

TEST(Tracepoints, OptionsThatMeanNothingTogetherAreRefused) {
    for (const OptionTexts& options :
         {OptionTexts{{"combine", "2"}}, OptionTexts{{"combine", "2++3"}}, OptionTexts{{"overhead", "1"}},
          OptionTexts{{"overhead", "1,0"}, {"combine", "2+3"}}, OptionTexts{{"correct", "1"}},
          OptionTexts{{"correct", "a,b"}}, OptionTexts{{"inner", "1"}}, OptionTexts{{"mode", "bernat"}},
          OptionTexts{{"mode", "sel4bench-legacy"}},
          OptionTexts{{"correct", "1,2"}, {"inner", "1"}, {"inner-pairs", "1"}}}) {
        const auto checked = run_text_query("tracepoints", options, *make_memory_store(), {}, kImportTime);
        ASSERT_FALSE(checked.ok());
        EXPECT_EQ(checked.error().code, ErrorCode::kUsage);
    }
    const auto unknown =
        run_text_query("tracepoints", {{"overhead", "8,9"}}, *stored_tracepoints({{0, 1}}), {}, kImportTime);
    ASSERT_FALSE(unknown.ok());
    EXPECT_NE(unknown.error().message.find("\"8\""), std::string::npos);
}

}  // namespace
}  // namespace perfleet::kernel_tables_test
