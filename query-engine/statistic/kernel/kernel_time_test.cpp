// Entries of a kernel's log joined with samples of the same clock, through a store.
#include "query-engine/statistic/kernel/kernel_time.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::kernel_time_test {
namespace {

constexpr TargetId kTarget{7};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{472'223};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kEntries{Kind::kKernelEntry, EventNumber{2}};
constexpr Series kTasks{Kind::kTask, kNoEvent};

constexpr std::uint64_t kInterrupt = 1;  // paths of version 14.0.0 and later
constexpr std::uint64_t kSyscall = 6;
constexpr std::uint64_t kCall = 1;  // system calls of kernels without MCS
constexpr std::uint64_t kRecv = 5;

struct MadeEntry {
    std::uint64_t start;
    std::uint64_t duration;
    std::uint64_t path;
    std::uint64_t detail;
};

struct MadeSample {
    std::uint64_t time;
    std::uint64_t tid;
    std::uint64_t stack;
    std::uint64_t weight;
};

class KernelTimes : public ::testing::Test {
protected:
    static SessionRecord session(const std::string& samples_event) {
        SessionRecord record = sample_session(kTarget, kSession);
        record.events[0].name = samples_event;
        EventRecord& event = record.events.emplace_back();
        event.name = "kernel_entries";
        event.kind = Kind::kKernelEntry;
        event.unit = "cycles";
        event.format = "sel4 1\narch aarch64\nversion 15.0.0\n";
        return record;
    }

    // Threads 1 "client" and 2 "server": main (in app) calls work, which is stack 2; stack 3 is serve.
    void put(const std::vector<MadeSample>& samples, const std::vector<MadeEntry>& entries,
             const std::string& samples_event = "timer") {
        const Partition partition = partition_of(kTarget, kBucket);
        ASSERT_TRUE(store_->define(partition, session(samples_event)).ok());
        SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
        batch.add_strings({{1, "client"}, {2, "server"}});
        batch.add_images({{1, image_flags::kFileOffset, std::string(20, 'a'), "/app"}});
        batch.add_stacks({{1, 0, 1, 0x100}, {2, 1, 1, 0x200}, {3, 0, 1, 0x300}});
        batch.add(kTasks, {{ColumnId::kTime, {0, 0}},
                           {ColumnId::kTaskOp, {6, 6}},
                           {ColumnId::kTid, {1, 2}},
                           {ColumnId::kString, {1, 2}}});
        SampleIntegers rows;
        for (const MadeSample& sample : samples) {
            rows[ColumnId::kTime].push_back(sample.time);
            rows[ColumnId::kTid].push_back(sample.tid);
            rows[ColumnId::kStack].push_back(sample.stack);
            rows[ColumnId::kWeight].push_back(sample.weight);
        }
        if (!samples.empty()) {
            batch.add(kSamples, rows).entry(kSamples, CountName::kProduced, samples.size());
        }
        SampleIntegers log;
        for (const MadeEntry& entry : entries) {
            log[ColumnId::kTime].push_back(entry.start);
            log[ColumnId::kDuration].push_back(entry.duration);
            log[ColumnId::kEntryPath].push_back(entry.path);
            log[ColumnId::kEntryDetail].push_back(entry.detail);
        }
        batch.add(kEntries, log).entry(kEntries, CountName::kProduced, entries.size() + lost_entries_);
        if (lost_entries_ != 0) {
            batch.entry(kEntries, CountName::kLostSaturated, lost_entries_).entry(kEntries, CountName::kThrottled, 1);
        }
        const auto built = batch.build();
        ASSERT_TRUE(store_->put(partition, std::span{&built, 1}).ok());
    }

    Result<Answer> ask(const OptionTexts& options) const {
        return run_text_query("kernel-entries", options, *store_, {}, UtcNs{0});
    }
    Answer answer(const OptionTexts& options) const {
        auto asked = ask(options);
        EXPECT_TRUE(asked.ok()) << (asked.ok() ? "" : asked.error().message);
        return asked.ok() ? std::move(*asked) : Answer{};
    }

    // Of each row the text of its first column behind session and target, and what stands in these.
    static std::map<std::string, std::vector<double>> rows_of(const Answer& answer,
                                                              const std::vector<std::string>& columns) {
        std::map<std::string, std::vector<double>> rows;
        for (const auto& row : answer.rows) {
            std::vector<double>& values = rows[std::get<std::string>(row[2])];
            for (const std::string& name : columns) {
                const auto column = std::find_if(answer.columns.begin(), answer.columns.end(),
                                                 [&](const AnswerColumn& one) { return one.name == name; });
                const AnswerValue& value = row[static_cast<std::size_t>(column - answer.columns.begin())];
                values.push_back(std::holds_alternative<std::uint64_t>(value)
                                     ? static_cast<double>(std::get<std::uint64_t>(value))
                                     : std::get<double>(value));
            }
        }
        return rows;
    }

    static bool warns_of(const Answer& answer, const std::string& what) {
        return std::any_of(answer.warnings.begin(), answer.warnings.end(),
                           [&](const std::string& warning) { return warning.find(what) != std::string::npos; });
    }

    using Rows = std::map<std::string, std::vector<double>>;

    // The client ran 300 of 400 ticks up to the first moment. The server ran alone before the second: it took 101 in
    // 900, so about 11 of the 40 in its 100 ticks before the first.
    const std::vector<MadeSample> samples_{{1'000, 1, 2, 300}, {1'000, 2, 3, 100}, {2'000, 2, 3, 900}};
    const std::vector<MadeEntry> entries_{
        {200, 40, kSyscall, kCall},      {990, 9, kInterrupt, 27 << 3},  // woke the collector
        {1'010, 20, kSyscall, kCall},                                    // its own
        {1'050, 30, kSyscall, kRecv},    {1'500, 100, kSyscall, kCall},  // the server's
        {1'600, 1, kInterrupt, 28 << 3},                                 // another's interrupt, which hit the server
        {1'990, 2, kInterrupt, 27 << 3}, {2'500, 7, kSyscall, kCall},    // no sample comes any more
    };
    std::unique_ptr<Store> store_ = make_memory_store();
    std::uint64_t lost_entries_ = 0;  // behind those that are put
};

TEST_F(KernelTimes, ShareOfTheKernelIsALowerBoundWhereEntriesWereLost) {
    lost_entries_ = 6;
    put({}, {{1'000, 100, kInterrupt, 0}, {2'900, 100, kSyscall, kCall}});
    const Answer summary = answer({});
    ASSERT_EQ(summary.rows.size(), 1U);
    const auto saturated = std::find_if(summary.columns.begin(), summary.columns.end(),
                                        [](const AnswerColumn& column) { return column.name == "saturated"; });
    ASSERT_NE(saturated, summary.columns.end());
    EXPECT_EQ(std::get<std::string>(summary.rows[0][static_cast<std::size_t>(saturated - summary.columns.begin())]),
              "yes");
    // 200 of 2,000 ticks in two entries of eight.
    const auto warning = std::find_if(summary.warnings.begin(), summary.warnings.end(), [](const std::string& text) {
        return text.find("6 of 8 entries were lost") != std::string::npos;
    });
    ASSERT_NE(warning, summary.warnings.end());
    EXPECT_NE(warning->find("the share would be 40.00 % at least"), std::string::npos) << *warning;
}

TEST_F(KernelTimes, AreThoseOfTheThreadsThatRan) {
    put(samples_, entries_);
    const Answer answered = answer({{"table", "threads"}});
    EXPECT_EQ(rows_of(answered, {"kernel_time"}),
              (Rows{{"client", {29}}, {"server", {112}}, {"(collector)", {61}}, {"(no sample)", {7}}}));
    auto entries = rows_of(answered, {"entries"});
    EXPECT_NEAR(entries["client"][0], 29.0 / 40, 0.01);
    EXPECT_NEAR(entries["client"][0] + entries["server"][0], 3, 1e-9);
    EXPECT_EQ(entries["(collector)"], (std::vector<double>{4}));
    EXPECT_EQ(std::get<std::string>(answered.rows[0][2]), "server");
    // The summary's kernel time, all of it.
    EXPECT_EQ(rows_of(answer({}), {"kernel_time"}), (Rows{{"15.0.0", {29 + 112 + 61 + 7}}}));
    EXPECT_EQ(answered.ledger.produced, samples_.size() + entries_.size());
    EXPECT_FALSE(warns_of(answered, "doesn't report which thread ran"));
}

TEST_F(KernelTimes, AreThoseOfTheFunctionsThatRanAndOfTheirCallers) {
    put(samples_, entries_);
    const Answer answered = answer({{"table", "functions"}});
    EXPECT_EQ(rows_of(answered, {"self", "children"}), (Rows{{"app+0x100", {0, 29}},
                                                             {"app+0x200", {29, 29}},
                                                             {"app+0x300", {112, 112}},
                                                             {"(collector)", {61, 61}},
                                                             {"(no sample)", {7, 7}}}));
    EXPECT_EQ(answer({{"table", "functions"}, {"limit", "2"}}).rows.size(), 2U);
}

TEST_F(KernelTimes, AreOfTheWantedPathAlone) {
    put(samples_, entries_);
    // All others are still attributed.
    EXPECT_EQ(rows_of(answer({{"table", "threads"}, {"path", "interrupt"}}), {"entries", "kernel_time"}),
              (Rows{{"client", {0, 0}}, {"server", {1, 1}}, {"(collector)", {2, 11}}, {"(no sample)", {0, 0}}}));
}

TEST_F(KernelTimes, AreDividedEquallyWhereNobodyTellsWhoRan) {
    std::vector<MadeSample> samples;
    for (const std::uint64_t moment : {1'000U, 2'000U}) {
        samples.insert(samples.end(), {{moment, 1, 1, 1}, {moment, 1, 2, 1}, {moment, 2, 3, 1}});
    }
    put(samples, {{900, 40, kSyscall, kCall}, {1'900, 40, kSyscall, kCall}});
    EXPECT_EQ(rows_of(answer({{"table", "threads"}}), {"kernel_time"}),
              (Rows{{"client", {52}}, {"server", {28}}, {"(collector)", {0}}, {"(no sample)", {0}}}));
}

TEST_F(KernelTimes, NeedSamplesOfTheSession) {
    put({}, entries_);
    const Answer answered = answer({{"table", "threads"}});
    EXPECT_TRUE(answered.rows.empty());
    EXPECT_TRUE(warns_of(answered, "has no samples"));
    const auto asked = ask({{"table", "threads"}, {"samples", "nothing"}});
    ASSERT_FALSE(asked.ok());
    EXPECT_EQ(asked.error().code, ErrorCode::kUsage);
    EXPECT_NE(asked.error().message.find("nothing"), std::string::npos);
    EXPECT_FALSE(ask({{"samples", "timer"}}).ok());
}

// What lies outside the asked time is neither summed up nor joined.
TEST_F(KernelTimes, AreOfTheAskedTime) {
    put(samples_, entries_);
    // Up to tick 1,400: one moment alone, which shows nothing about the time before it.
    const auto answered = answer({{"table", "threads"}, {"to", "2023-11-14T22:13:20.0000014Z"}});
    EXPECT_EQ(rows_of(answered, {"kernel_time"}),
              (Rows{{"client", {0}}, {"server", {0}}, {"(collector)", {59}}, {"(no sample)", {40}}}));
}

}  // namespace
}  // namespace perfleet::kernel_time_test
