// Imported values at the edges of what can be measured: zeros alone, no values at all, times before 1970; and figures
// that no interval is to be had of.
#include <limits>

#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "tools/perfleet/import/testing/import_fixture.h"

namespace perfleet::imported_edges_test {
namespace {

Runs labelled(const std::string& text, const std::string& version) {
    Runs runs = read_columns(text, {});
    EXPECT_TRUE(runs.ok());
    (*runs)[0].labels["version"] = version;
    return runs;
}

std::unique_ptr<Store> two_versions(const std::string& before, const std::string& after) {
    Runs runs = labelled(before, "1");
    Runs others = labelled(after, "2");
    runs->push_back(std::move((*others)[0]));
    return stored(runs);
}

Answer compare(const Store& store, OptionTexts options) {
    options.insert({{"before", "{version=\"1\"}"}, {"after", "{version=\"2\"}"}, {"within-run", "yes"}});
    auto answer = run_text_query("diff", options, store, {}, kImportTime);
    EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message);
    return answer.ok() ? std::move(*answer) : Answer{};
}

TEST(ImportedEdges, NoIntervalIsLookedForOfTheLeastAndTheGreatestValue) {
    const auto store = two_versions("a\n1\n2\n3\n4\n", "a\n1\n2\n3\n5\n");
    for (const char* confidence : {"50", "95", "99.99"}) {
        const Answer answer =
            compare(*store, {{"percentiles", "0,0.0000001,50,99.9999999,100"}, {"confidence", confidence}});
        ASSERT_EQ(printed(answer, "figure"),
                  (Texts{"mean", "p0", "p0.0000001", "median", "p99.9999999", "p100", "max", "shift"}));
        EXPECT_EQ(printed(answer, "difference_high")[5], "-");
        EXPECT_EQ(printed(answer, "verdict")[5], printed(answer, "verdict")[6]);
        EXPECT_EQ(printed(answer, "after")[1], "1.00");
        EXPECT_EQ(printed(answer, "after")[5], "5.00");
    }
    const Answer judged = compare(*store, {{"fail-if", "p100 > 1%, p0 > 1%"}});
    EXPECT_TRUE(warns_of(judged, "exceeded: a p100: +25.00 %; it has no interval, so the measured values decide"));
    EXPECT_EQ(printed(judged, "outcome").size(), 9U);
}

TEST(ImportedEdges, ZerosAreMeasuredValues) {
    const auto store = two_versions("a\n0\n0\n0\n", "a\n0\n0\n0\n0\n");
    for (const OptionTexts& view :
         {OptionTexts{}, OptionTexts{{"sketch", "yes"}}, OptionTexts{{"sketch", "yes"}, {"exact", "yes"}}}) {
        const Answer answer = ask(*store, view);
        EXPECT_EQ(printed(answer, "max"), (Texts{"0", "0"}));
        EXPECT_EQ(printed(answer, "mean"), (Texts{"0.00", "0.00"}));
        EXPECT_EQ(answer.ledger.stored, 7U);
    }
    EXPECT_EQ(printed(ask(*store, {{"runs", "yes"}}), "runs"), Texts{"2"});
    EXPECT_EQ(printed(ask(*store, {{"mode", "bernat"}}), "max"), (Texts{"0", "0"}));
    EXPECT_EQ(printed(ask(*store, {{"mode", "sel4bench-legacy"}}), "samples").size(), 2U);
    const Answer answer = compare(*store, {});
    EXPECT_EQ(printed(answer, "figure").size(), 7U);
    EXPECT_FALSE(warns_of(answer, "no latencies"));
    const Texts differences = printed(compare(*two_versions("a\n0\n0\n0\n", "a\n1\n2\n3\n"), {}), "difference");
    ASSERT_FALSE(differences.empty());
    EXPECT_EQ(differences[0], "2.00");
    const auto one = stored(read_columns("a\n0\n0\n0\n", {}));
    EXPECT_EQ(ask(*one, {{"table", "yes"}}).rows.size(), 3U);
    for (const char* kind : {"log2", "linear"}) {
        const Answer histogram = ask(*one, {{"histogram", kind}});
        ASSERT_FALSE(histogram.rows.empty());
        EXPECT_EQ(histogram.rows.back()[3], AnswerValue{std::uint64_t{3}});
    }
}

TEST(ImportedEdges, TracepointsOfAClockCarryAValueWhereOneIsNotZero) {
    ImportedRun run;
    run.clock = ImportedClock{"cycles"};
    ImportedSeries& moments = run.series.emplace_back();
    moments.kind = Kind::kTracepoint;
    moments.event = "fault";
    moments.rows = {{5, 0, 0, 0, 0, 1, 0, 0}, {7, 0, 0, 0, 0, 1, 0, 0}};
    const auto store = stored(std::vector{run});
    EXPECT_TRUE(ask(*store, {}).rows.empty());
    EXPECT_TRUE(ask(*store, {{"sketch", "yes"}}).rows.empty());
}

TEST(ImportedEdges, AFailedRunWithoutValuesIsSaid) {
    const auto store = stored(read_bernat("err=-22 msg=\"lookup error\"\n", {}));
    for (const OptionTexts& view : {OptionTexts{}, OptionTexts{{"sketch", "yes"}}, OptionTexts{{"kbench", "yes"}},
                                    OptionTexts{{"runs", "yes"}}}) {
        EXPECT_TRUE(warns_of(ask(*store, view), "is a run that failed: lookup error"));
    }
}

TEST(ImportedEdges, ARunOfBefore1970EndsWhenItDoes) {
    const auto runs = read_columns("a\n1\n2\n3\n", {});
    constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t start :
         {std::int64_t{-1'000'000'000}, std::numeric_limits<std::int64_t>::min(), std::int64_t{0}, kLast - 1}) {
        const auto store = make_memory_store();
        StoreDestination destination{*store};
        const auto done = store_run((*runs)[0], {"board", "aarch64", UtcNs{start}, "file"}, destination);
        ASSERT_TRUE(done.ok()) << done.error().message;
        const auto sessions = store->all_sessions();
        ASSERT_TRUE(sessions.ok());
        const auto end = store->session_end(sessions->front().target, done->session);
        ASSERT_TRUE(end.ok() && end->has_value());
        // Three rows of a nanosecond each.
        EXPECT_EQ((*end)->end_point.utc_ns.value, start > 0 ? kLast : start + 3);
    }
}

}  // namespace
}  // namespace perfleet::imported_edges_test
