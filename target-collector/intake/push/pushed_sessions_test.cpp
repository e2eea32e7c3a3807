// Pushed profiles become parts, each a batch, whatever is in them; those that come again, or were stored by halves, are
// stored once. tests/end_to_end/http_push.py has what a gateway makes of them.
#include "target-collector/intake/push/pushed_sessions.h"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/intake/session/testing/passed_sessions.h"

namespace perfleet::pushed_sessions_test {
namespace {

constexpr std::int64_t kHourNs = 3'600 * kNsPerSecond;
constexpr std::int64_t kNowNs = 472'222 * kHourNs + 1'000;

// A profile of functions with names of a given length.
class Made {
public:
    explicit Made(std::size_t functions, std::size_t name_size = 8) {
        for (std::uint32_t i = 0; i < functions; ++i) {
            const std::string& name = names_.emplace_back(std::to_string(i) + std::string(name_size, 'x'));
            tables_->functions.push_back({.name = name, .system_name = {}, .file_name = {}});
            tables_->locations.emplace_back().lines = {{.function = i}};
        }
        all_.resize(functions);
        std::iota(all_.begin(), all_.end(), 0U);
        profile_.target = "host";
        profile_.types = {{"cpu", "ns"}, {"samples", "count"}};
        profile_.tables = tables_;
    }
    void add(std::size_t first, std::size_t depth, std::uint32_t cpu = 0, std::int64_t time_ns = kNowNs) {
        PushedSample& sample = profile_.samples.emplace_back();
        sample.locations = std::span{all_}.subspan(first, depth);
        sample.cpu = cpu;
        sample.time_ns = time_ns;
        sample.values = {10, 1};
    }
    [[nodiscard]] PushedRequest request() const { return {{profile_}, 0, {}}; }
    PushedProfile profile_;

private:
    std::deque<std::string> names_;
    std::shared_ptr<PprofProfile> tables_ = std::make_shared<PprofProfile>();
    std::vector<std::uint32_t> all_;
};

class PushedSessionsTest : public ::testing::Test {
protected:
    PushedSessionsTest() : sessions_{make()} {}

    std::unique_ptr<PushedSessions> make() {
        return std::make_unique<PushedSessions>(
            destination_, [this] { return UtcNs{now_ns_}; }, [](const LogEvent&) {});
    }
    Result<PushOutcome> store(const Made& made, std::uint64_t request = 1) {
        return sessions_->store("client", {request, 0}, made.request(),
                                [this](UtcNs) { return Result<PushedSessions::Hashes>{stored_}; });
    }
    // Of the first batches.
    std::uint64_t sample_rows(std::size_t batch_count = ~std::size_t{0}) const {
        std::uint64_t count = 0;
        for (const SealedRecord& batch :
             std::span{passed_.batches}.first(std::min(batch_count, passed_.batches.size()))) {
            for (std::size_t i = 0; i < batch.series_count; ++i) {
                count += batch.rows[i].series.kind == Kind::kSample ? batch.rows[i].row_count : 0;
            }
        }
        return count;
    }

    Passed passed_;
    PassedDestination destination_{passed_};
    PushedSessions::Hashes stored_;
    std::int64_t now_ns_ = kNowNs;
    std::unique_ptr<PushedSessions> sessions_;
};

TEST_F(PushedSessionsTest, APartIsABatchWhateverItHolds) {
    Made many{3};
    for (int i = 0; i < 20'000; ++i) {
        many.add(0, 3);
    }
    Made deep{5'000};
    for (std::size_t i = 0; i < 100; ++i) {
        deep.add(i * 40, 1'024);
    }
    Made long_names{2'000, 5'000};
    for (std::size_t i = 0; i < 100; ++i) {
        long_names.add(i * 5, 1'500);
    }
    Made processors{2};
    for (std::uint32_t i = 0; i < 5'000; ++i) {
        processors.add(0, 2, i * 7'919);
    }
    Made labelled{2};
    const std::string text(60'000, 'y');
    for (int i = 0; i < 200; ++i) {
        labelled.add(0, 2);
        labelled.profile_.samples.back().labels = {{"key", text, {}, 0}};
    }
    std::uint64_t request = 0;
    for (const Made* const made : {&many, &deep, &long_names, &processors, &labelled}) {
        const std::size_t before = passed_.batches.size();
        const auto outcome = store(*made, ++request);
        ASSERT_TRUE(outcome.ok()) << request << ": " << outcome.error().message;
        EXPECT_EQ(outcome->rows, 2 * made->profile_.samples.size()) << request;
        EXPECT_GT(passed_.batches.size(), before + 1) << request;
        for (const SealedRecord& batch : std::span{passed_.batches}.subspan(before)) {
            const auto is_tasks = [](const SealedRecord::Rows& rows) { return rows.series.kind == Kind::kTask; };
            const auto rows = std::span{batch.rows}.first(batch.series_count);
            EXPECT_TRUE(std::ranges::any_of(rows, is_tasks)) << "each batch names its part";
        }
    }
    for (std::size_t i = 0; i < passed_.batches.size(); ++i) {
        EXPECT_EQ(passed_.batches[i].seq.value, i + 1) << "one session";
    }
    EXPECT_EQ(passed_.record.collector_version, kPushCollector);
}

TEST_F(PushedSessionsTest, SaysWhichLabelsAreTooLong) {
    Made made{1};
    const std::string text(limits::kRawBytesMax, 'y');
    for (const std::size_t size : {std::size_t{5}, text.size()}) {
        made.add(0, 1);
        made.profile_.samples.back().labels = {{"key", std::string_view{text}.substr(0, size), {}, 0}};
    }
    const auto outcome = store(made);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->rows, 4U);
    EXPECT_EQ(outcome->labels_dropped, 1U);
}

TEST_F(PushedSessionsTest, WhatComesAgainIsThereAlready) {
    Made made{3};
    for (int i = 0; i < 20'000; ++i) {
        made.add(0, 3);
    }
    ASSERT_TRUE(store(made).ok());
    const std::size_t batches = passed_.batches.size();
    const auto again = store(made);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->rows, 0U);
    EXPECT_EQ(again->parts_there, batches);
    EXPECT_EQ(passed_.batches.size(), batches);
    ASSERT_TRUE(store(made, 2).ok());
    EXPECT_EQ(passed_.batches.size(), 2 * batches) << "another request with the same content";
}

TEST_F(PushedSessionsTest, WhatWasStoredByHalvesIsCompletedByAnother) {
    Made made{3};
    for (int i = 0; i < 20'000; ++i) {
        made.add(0, 3, 0, kNowNs - (i % 2) * kHourNs);
    }
    passed_.batches_max = 2;
    EXPECT_EQ(store(made).error().code, ErrorCode::kUnavailable);
    ASSERT_EQ(passed_.batches.size(), 2U);
    const SessionId first = passed_.record.session;
    // What the store has of it, as a reader of it finds.
    for (std::uint64_t part = 0; part < 2; ++part) {
        stored_.emplace(hash_of_part(hash_of_part({1, 0}, 0), part), UtcNs{kNowNs});
    }
    passed_.batches_max = ~std::size_t{0};
    const auto rest = store(made);
    ASSERT_TRUE(rest.ok()) << rest.error().message;
    EXPECT_EQ(rest->parts_there, 2U);
    EXPECT_EQ(sample_rows(), 40'000U);
    EXPECT_NE(passed_.record.session, first) << "another session goes on";
    sessions_ = make();  // another process
    ASSERT_TRUE(store(made).ok());
    EXPECT_EQ(sample_rows(), 2 * 40'000U - sample_rows(2)) << "it knows what the store says, and no more";
}

TEST_F(PushedSessionsTest, ASessionEndsAfterAnHourOrAPause) {
    Made made{1};
    made.add(0, 1);
    ASSERT_TRUE(store(made, 1).ok());
    const SessionId first = passed_.record.session;
    now_ns_ += PushedSessions::kIdleNs - kNsPerSecond;
    sessions_->end_old();
    ASSERT_TRUE(store(made, 2).ok());
    EXPECT_EQ(passed_.record.session, first);
    EXPECT_FALSE(passed_.end.has_value());
    now_ns_ += PushedSessions::kIdleNs + kNsPerSecond;
    sessions_->end_old();
    ASSERT_TRUE(passed_.end.has_value());
    EXPECT_EQ(passed_.end->last_seq, Seq{2});
    ASSERT_TRUE(store(made, 3).ok());
    EXPECT_NE(passed_.record.session, first);
    EXPECT_EQ(passed_.batches.back().seq, Seq{1});
}

TEST_F(PushedSessionsTest, RefusesTheFutureAndMoreKindsThanItKeeps) {
    Made made{1};
    made.add(0, 1, 0, kNowNs + 2 * kHourNs);
    const auto ahead = store(made);
    ASSERT_TRUE(ahead.ok());
    EXPECT_EQ(ahead->rejected_count, 1U);
    EXPECT_TRUE(passed_.batches.empty());
    Made kinds{1};
    kinds.add(0, 1);
    for (std::size_t i = 0; i <= PushedSessions::kSessionsMax; ++i) {
        kinds.profile_.labels["kind"] = std::to_string(i);
        const auto stored = store(kinds, i + 2);
        ASSERT_EQ(stored.ok(), i < PushedSessions::kSessionsMax) << i;
    }
}

}  // namespace
}  // namespace perfleet::pushed_sessions_test
