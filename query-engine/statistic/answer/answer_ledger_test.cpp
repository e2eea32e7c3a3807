// A damaged block that is met late is lost in the ledger of every answer that would have counted it.
#include "query-engine/statistic/answer/answer_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "query-engine/scan/testing/tampered_store.h"
#include "query-engine/statistic/session/coverage.h"
#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::answer_ledger_test {
namespace {

constexpr TargetId kTarget{7};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{472'223};
constexpr std::uint64_t kBatches = 4;
constexpr std::uint64_t kRows = 8;  // of a batch

constexpr Series kPoints{Kind::kTracepoint, EventNumber{1}};
constexpr Series kLatencies{Kind::kLatency, EventNumber{2}};
constexpr Series kCounters{Kind::kCounter, EventNumber{3}};
constexpr Series kEntries{Kind::kKernelEntry, EventNumber{4}};
constexpr Series kWindows{Kind::kUtilisation, EventNumber{5}};

class AnswerLedgers : public testing::Test {
protected:
    void SetUp() override {
        SessionRecord record = sample_session(kTarget, kSession);
        for (const Series series : {kLatencies, kCounters, kEntries, kWindows}) {
            EventRecord& event = record.events.emplace_back();
            event.name = std::string{kind_name(series.kind)};
            event.kind = series.kind;
        }
        const Partition partition = partition_of(kTarget, kBucket);
        ASSERT_TRUE(store_->define(partition, record).ok());
        for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
            SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{0}, kBucket};
            for (const Series series : {kPoints, kLatencies, kCounters, kEntries, kWindows}) {
                SampleIntegers rows;
                for (std::uint64_t row = 1; row <= kRows; ++row) {
                    rows[ColumnId::kTime].push_back(seq * 1'000 + row);
                }
                if (series == kPoints || series == kLatencies) {
                    rows[ColumnId::kValue].assign(kRows, 5);
                }
                if (series == kLatencies) {
                    rows[ColumnId::kTestSize].assign(kRows, 1);
                    rows[ColumnId::kTest].assign(kRows, 1);
                }
                batch.add(series, rows).entry(series, CountName::kProduced, seq * kRows);
            }
            const auto built = batch.build();
            ASSERT_TRUE(store_->put(partition, std::span{&built, 1}).ok());
        }
    }

    // The third batch's block of the series is damaged.
    void expect_reported(Series damaged, const std::string& command, OptionTexts options) const {
        const TamperedStore store{*store_, [&](Series series, Seq first_seq, std::string_view block) {
                                      std::string bytes{block};
                                      if (series == damaged && first_seq == Seq{3}) {
                                          bytes.back() = static_cast<char>(bytes.back() ^ 1);
                                          bytes[60] = static_cast<char>(bytes[60] ^ 1);
                                      }
                                      return std::optional{bytes};
                                  }};
        if (command != "diff") {
            options["event"] = damaged == kPoints ? "sched:sched_switch" : std::string{kind_name(damaged.kind)};
        }
        const auto answer = run_text_query(command, options, store, {}, UtcNs{0});
        std::string shown = command;
        for (const auto& [name, text] : options) {
            shown += " --" + name + " " + text;
        }
        ASSERT_TRUE(answer.ok()) << shown << ": " << answer.error().message;
        const std::uint64_t sides = command == "diff" ? 2 : 1;
        EXPECT_EQ(answer->ledger.produced, sides * kBatches * kRows) << shown;
        EXPECT_EQ(answer->ledger.stored, sides * (kBatches - 1) * kRows) << shown;
        EXPECT_EQ(answer->ledger.lost, (std::map<std::string, std::uint64_t>{{"damaged", sides * kRows}})) << shown;
        EXPECT_TRUE(std::any_of(answer->warnings.begin(), answer->warnings.end(), [](const std::string& warning) {
            return warning.find("not readable") != std::string::npos;
        })) << shown;
    }

    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(AnswerLedgers, OfLatenciesKnowWhatWasDamaged) {
    for (const Series series : {kPoints, kLatencies}) {
        for (const char* option : {"skip", "runs", "sketch", "kbench", "table", "histogram", "heat-map", "mode"}) {
            const std::string name = option;
            if (series == kPoints && (name == "kbench" || name == "table")) {
                continue;  // of accumulated latencies alone
            }
            expect_reported(series, "latency",
                            {{name, name == "skip"        ? "0"
                                    : name == "histogram" ? "log2"
                                    : name == "mode"      ? "bernat"
                                                          : "yes"}});
        }
    }
}

TEST_F(AnswerLedgers, OfComparedLatenciesKnowWhatWasDamaged) {
    expect_reported(kPoints, "diff",
                    {{"before", "{rack=\"3\"}"}, {"after", "{role=\"test\"}"}, {"event", "sched:sched_switch"}});
}

TEST_F(AnswerLedgers, OfOtherRowsKnowWhatWasDamaged) {
    expect_reported(kPoints, "tracepoints", {});
    expect_reported(kCounters, "counters", {});
    expect_reported(kEntries, "kernel-entries", {});
    expect_reported(kEntries, "kernel-entries", {{"table", "durations"}});
    expect_reported(kWindows, "utilisation", {});
}

// A session of so many samples, and what its event counted beyond them.
std::unique_ptr<Store> store_of_samples(std::uint64_t row_count,
                                        const std::vector<std::pair<CountName, std::uint64_t>>& counts) {
    constexpr Series kSamples{Kind::kSample, EventNumber{0}};
    std::unique_ptr<Store> store = make_memory_store();
    const Partition partition = partition_of(kTarget, kBucket);
    EXPECT_TRUE(store->define(partition, sample_session(kTarget, kSession)).ok());
    SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
    batch.add_images({{1, image_flags::kFileOffset, std::string(20, 'a'), "/app"}}).add_stacks({{1, 0, 1, 0x100}});
    SampleIntegers rows;
    for (std::uint64_t row = 1; row <= row_count; ++row) {
        rows[ColumnId::kTime].push_back(1'000 + row);
        rows[ColumnId::kStack].push_back(1);
        rows[ColumnId::kWeight].push_back(1'000'000);
    }
    batch.add(kSamples, rows);
    for (const auto& [name, count] : counts) {
        batch.entry(kSamples, name, count);
    }
    const auto built = batch.build();
    EXPECT_TRUE(store->put(partition, std::span{&built, 1}).ok());
    return store;
}

TEST(AnswersOfMissingSamples, SayHowManyAndWhy) {
    const auto store = store_of_samples(100, {{CountName::kProduced, 100 + 60 + 21 + 1},
                                              {CountName::kLostNotDelivered, 60},
                                              {CountName::kLostThrottled, 21},
                                              {CountName::kLostTimerLate, 1},
                                              {CountName::kBelowPeriod, 818}});
    for (const char* const command : {"losses", "top"}) {
        const auto answer = run_text_query(command, {}, *store, {}, UtcNs{0});
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(answer->ledger.produced, answer->ledger.stored + 82) << command;
        EXPECT_EQ(answer->ledger.lost, (std::map<std::string, std::uint64_t>{
                                           {"kernel_throttled", 21}, {"not_delivered", 60}, {"timer_late", 1}}))
            << command;
        const auto count = [&](std::string_view text) {
            return std::ranges::count_if(
                answer->warnings, [&](const std::string& warning) { return warning.find(text) != std::string::npos; });
        };
        EXPECT_EQ(count("60 of 182 rows of cpu-clock (33.0 %) were not delivered"), 1) << command;
        EXPECT_EQ(count("21 of 182 rows of cpu-clock (11.5 %) are missing, as the kernel throttled"), 1) << command;
        EXPECT_EQ(count("timer came late"), 0) << command;
        EXPECT_EQ(count("818 of 1000 rows of cpu-clock (81.8 %) would be of time that no sample"), 1) << command;
        EXPECT_EQ(count("names"), 0) << command;
    }
}

TEST(AnswersOfMissingSamples, NameThoseWithoutNamesAboveATwentieth) {
    for (const std::uint64_t unnamed : {19U, 50U, 51U}) {
        const std::uint64_t produced = unnamed == 19U ? 20 : 1'000;  // 19 are too few, whatever their share
        const auto store =
            store_of_samples(produced, {{CountName::kProduced, produced}, {CountName::kNamesNotRead, unnamed}});
        const auto answer = run_text_query("top", {}, *store, {}, UtcNs{0});
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(std::ranges::count_if(answer->warnings, is_from_collector), unnamed == 51U ? 1 : 0) << unnamed;
    }
}

}  // namespace
}  // namespace perfleet::answer_ledger_test
