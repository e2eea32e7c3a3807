// `top --slowest` held against a look at each operation for each sample.
#include "query-engine/statistic/profile/slowest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::slowest_test {
namespace {

constexpr TargetId kTarget{7};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{472'223};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kDurations{Kind::kTracepoint, EventNumber{1}};
constexpr Series kStarts{Kind::kTracepoint, EventNumber{2}};
constexpr Series kStops{Kind::kTracepoint, EventNumber{3}};
constexpr std::uint32_t kImages = 4;
constexpr std::uint64_t kFirst = 1'000'000;

struct TimedRow {
    std::uint64_t tid = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};
struct SampleRow {
    std::uint64_t tid = 0;
    std::uint64_t ticks = 0;
    std::uint32_t stack = 0;  // 1 to kImages: image 0 alone, 1 called by 0, and so on
};
using Shares = std::map<std::pair<std::string, std::string>, std::pair<double, double>>;  // by image and figure

class Slowest : public testing::Test {
protected:
    void put(const std::string& unit) {
        SessionRecord record = sample_session(kTarget, kSession);
        record.events.resize(2);
        record.events[1].name = "work";
        record.events[1].unit = unit;
        for (const char* name : {"begin", "finish"}) {
            EventRecord& event = record.events.emplace_back(record.events[1]);
            event.name = name;
            event.unit = "";
        }
        const Partition partition = partition_of(kTarget, kBucket);
        ASSERT_TRUE(store_->define(partition, record).ok());
        SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
        std::vector<SampleBatch::Image> images;
        std::vector<SampleBatch::Stack> stacks;
        for (std::uint32_t i = 0; i < kImages; ++i) {
            images.push_back({i, 0, "", "/lib/image" + std::to_string(i)});
            stacks.push_back({i + 1, i, i, 16});
        }
        batch.add_images(images).add_stacks(stacks);
        SampleIntegers durations;
        SampleIntegers starts;
        SampleIntegers stops;
        std::sort(timed_.begin(), timed_.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
        for (const TimedRow& row : timed_) {
            durations[ColumnId::kTime].push_back(row.end);
            durations[ColumnId::kTid].push_back(row.tid);
            durations[ColumnId::kValue].push_back(row.end - row.start);
            stops[ColumnId::kTime].push_back(row.end);
            stops[ColumnId::kTid].push_back(row.tid);
        }
        std::vector<TimedRow> by_start = timed_;
        std::sort(by_start.begin(), by_start.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
        for (const TimedRow& row : by_start) {
            starts[ColumnId::kTime].push_back(row.start);
            starts[ColumnId::kTid].push_back(row.tid);
        }
        SampleIntegers samples;
        for (const SampleRow& row : samples_) {
            samples[ColumnId::kTime].push_back(row.ticks);
            samples[ColumnId::kTid].push_back(row.tid);
            samples[ColumnId::kStack].push_back(row.stack);
        }
        batch.add(kSamples, samples).add(kDurations, durations).add(kStarts, starts).add(kStops, stops);
        for (const Series series : {kDurations, kStarts, kStops}) {
            batch.entry(series, CountName::kProduced, timed_.size());
        }
        batch.entry(kSamples, CountName::kProduced, samples_.size());
        const auto built = batch.build();
        const auto outcomes = store_->put(partition, std::span{&built, 1});
        ASSERT_TRUE(outcomes.ok());
    }

    // One after the other in each of four threads, and samples in and between them.
    void make_rows(std::uint64_t seed) {
        std::mt19937_64 random{seed};
        for (std::uint64_t tid = 100; tid < 104; ++tid) {
            std::uint64_t now = kFirst;
            for (int i = 0; i < 100; ++i) {
                const std::uint64_t start = now + 1 + random() % 50;
                const std::uint64_t duration = random() % 10 == 0 ? 2'000 + random() % 500 : 100 + random() % 300;
                timed_.push_back({tid, start, start + duration});
                now = start + duration;
            }
            for (int i = 0; i < 400; ++i) {
                samples_.push_back({tid, kFirst + random() % (now - kFirst + 100),
                                    static_cast<std::uint32_t>(1 + random() % kImages)});
            }
        }
        std::sort(samples_.begin(), samples_.end(), [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
    }

    [[nodiscard]] Shares expected(std::size_t slow_count) const {
        std::vector<std::uint64_t> durations;
        for (const TimedRow& row : timed_) {
            durations.push_back(row.end - row.start);
        }
        std::sort(durations.rbegin(), durations.rend());
        const std::uint64_t from = durations[slow_count - 1];
        std::map<std::pair<std::string, std::string>, std::pair<double, double>> hits;
        double slow = 0;
        double other = 0;
        for (const SampleRow& sample : samples_) {
            for (const TimedRow& row : timed_) {
                if (row.tid != sample.tid || sample.ticks < row.start || sample.ticks > row.end) {
                    continue;
                }
                const bool is_slow = row.end - row.start >= from;
                (is_slow ? slow : other) += 1;
                for (std::uint32_t i = 0; i < sample.stack; ++i) {
                    const std::string image = "image" + std::to_string(i);
                    auto& [a, b] = hits[{image, "children"}];
                    (is_slow ? a : b) += 1;
                    if (i + 1 == sample.stack) {
                        auto& [c, d] = hits[{image, "self"}];
                        (is_slow ? c : d) += 1;
                    }
                }
            }
        }
        Shares shares;
        for (const auto& [name, both] : hits) {
            const bool is_leaf_alone = name == std::pair<std::string, std::string>{"image3", "children"};
            if (!is_leaf_alone) {
                shares[name] = {100 * both.first / slow, 100 * both.second / other};
            }
        }
        return shares;
    }

    [[nodiscard]] Result<Answer> top(const OptionTexts& options) const {
        OptionTexts counted = options;
        counted.try_emplace("measure", "samples");
        return run_text_query("top", counted, *store_, {}, UtcNs{0});
    }

    static Shares shares_of(const Answer& answer) {
        Shares shares;
        for (const std::vector<AnswerValue>& row : answer.rows) {
            shares[{std::get<std::string>(row[1]), std::get<std::string>(row[2])}] = {std::get<double>(row[3]),
                                                                                      std::get<double>(row[4])};
        }
        return shares;
    }

    void expect_shares(const OptionTexts& options, std::size_t slow_count) const {
        const auto answer = top(options);
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        const Shares shares = shares_of(*answer);
        const Shares wanted = expected(slow_count);
        ASSERT_EQ(shares.size(), wanted.size());
        for (const auto& [name, both] : wanted) {
            ASSERT_TRUE(shares.contains(name)) << name.first << " " << name.second;
            EXPECT_NEAR(shares.at(name).first, both.first, 1e-9) << name.first << " " << name.second;
            EXPECT_NEAR(shares.at(name).second, both.second, 1e-9) << name.first << " " << name.second;
        }
    }

    void expect_refused(const OptionTexts& options, const std::string& words) const {
        const auto answer = top(options);
        ASSERT_FALSE(answer.ok());
        EXPECT_EQ(answer.error().code, ErrorCode::kUsage);
        EXPECT_NE(answer.error().message.find(words), std::string::npos) << answer.error().message;
    }

    std::unique_ptr<Store> store_ = make_memory_store();
    std::vector<TimedRow> timed_;
    std::vector<SampleRow> samples_;
};

TEST_F(Slowest, SharesAreThoseOfALookAtEachOperation) {
    make_rows(1);
    put("ns");
    expect_shares({{"slowest", "5%"}, {"of", "work"}}, 20);
    expect_shares({{"slowest", "0.1"}, {"of", "work"}}, 1);
    expect_shares({{"slowest", "5%"}, {"of", "begin,finish"}}, 20);
}

TEST_F(Slowest, DurationsMayBeInOtherUnitsOfTime) {
    make_rows(2);
    put("0.001 us");
    expect_shares({{"slowest", "10%"}, {"of", "work"}}, 40);
}

TEST_F(Slowest, SaysWhatFellIntoNoOperation) {
    timed_ = {{100, 1'000'100, 1'000'200}, {100, 1'000'300, 1'000'900}};
    samples_ = {{100, 1'000'100, 1}, {101, 1'000'150, 1}, {100, 1'000'250, 1}, {100, 1'000'900, 1}};
    put("ns");
    const auto answer = top({{"slowest", "50%"}, {"of", "work"}});
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    const auto has = [&](const std::string& words) {
        return std::any_of(answer->warnings.begin(), answer->warnings.end(),
                           [&](const std::string& warning) { return warning.find(words) != std::string::npos; });
    };
    EXPECT_TRUE(
        has("1 of 2 operations, from 600 ns on; samples fell into 1 of these (1 sample), and into 1 of the "
            "others (1 sample)"));
    EXPECT_TRUE(has("2 samples fell into no operation"));
    EXPECT_TRUE(has("fewer than two of the slowest operations"));
}

TEST_F(Slowest, RefusesWhatTellsNoDurations) {
    make_rows(3);
    put("items");
    expect_refused({{"slowest", "5%"}, {"of", "work"}}, "\"items\", not a time");
    expect_refused({{"slowest", "5%"}, {"of", "begin"}}, "not a time");
    expect_refused({{"slowest", "5%"}, {"of", "nothing"}}, "no tracepoint nothing");
    expect_refused({{"slowest", "5%"}}, "--of");
    expect_refused({{"of", "work"}}, "--slowest");
    expect_refused({{"slowest", "0"}, {"of", "work"}}, "percentage");
    expect_refused({{"slowest", "5%"}, {"of", "a,b,c"}}, "two events");
    expect_refused({{"slowest", "5%"}, {"of", "work"}, {"by", "image"}}, "--by: not together");
}

TEST_F(Slowest, RefusesDurationsThatAreAllNothing) {
    timed_ = {{100, kFirst, kFirst}};
    samples_ = {{100, kFirst, 1}};
    put("ns");
    expect_refused({{"slowest", "5%"}, {"of", "work"}}, "all its values are 0");
}

}  // namespace
}  // namespace perfleet::slowest_test
