#include "query-engine/http/pyroscope/querier.h"

#include <gtest/gtest.h>

#include "schemas/gzip/gzip.h"

namespace perfleet::pyroscope {
namespace {

constexpr const char* kCpu = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";

// Answers from a store that has CPU profiles alone, and keeps the queries.
class QuerierTest : public testing::Test {
protected:
    QuerierTest() {
        backend_.query = [this](Query query, QueryReply& reply) { return run(std::move(query), reply); };
    }

    Result<QueryEnd> run(Query query, QueryReply& reply) {
        Answer answer;
        if (query.command == "events") {
            answer.rows = {{std::string{"cpu"}, std::string{"ns"}, std::uint64_t{1}}};
        } else if (query.command == "labels") {
            answer.rows = {{std::string{"a,b"}, std::string{"c"}, std::uint64_t{1}},
                           {std::string{"rack"}, std::string{"7"}, std::uint64_t{1}}};
        } else if (query.command == "series") {
            std::vector<AnswerValue> row{std::string{"2023-11-14T22:13:20.000000000Z"}};
            if (const auto by = query.values.find("by"); by != query.values.end()) {
                for (const std::string& key : split_list(std::get<std::string>(by->second))) {
                    row.emplace_back(key);
                }
            }
            row.insert(row.end(), {std::uint64_t{5}, std::uint64_t{1}});
            answer.rows = {std::move(row)};
        } else if (query.command == "export") {
            const std::string packed = GzipBody{}.add(profile_, true);
            PERFLEET_TRY(reply.write_at(0, std::as_bytes(std::span{packed})));
        }
        queries_.push_back(std::move(query));
        PERFLEET_TRY(reply.send_table(std::move(answer)));
        return QueryEnd{};
    }

    [[nodiscard]] Result<Json> call(std::string_view method, Json request) const {
        request.update({{"profileTypeID", kCpu}, {"start", 1'699'999'990'000}, {"end", 1'700'000'010'000}});
        return querier_.call(method, request);
    }

    std::vector<Query> queries_;
    std::string profile_;
    HttpBackend backend_;
    std::atomic<bool> cancelled_ = false;
    Querier querier_{backend_, "comm", cancelled_};
};

TEST_F(QuerierTest, LabelsThatNoColumnHasAreRefusedByName) {
    for (const std::vector<std::string>& labels : std::vector<std::vector<std::string>>{{"a,b"}, {""}, {"rack", ""}}) {
        const auto series = call("SelectSeries", {{"groupBy", labels}, {"step", 1.0}});
        ASSERT_FALSE(series.ok());
        EXPECT_EQ(series.error().code, ErrorCode::kInvalid);
        EXPECT_EQ(series.error().message.find("groupBy: \"" + labels.back()), 0U) << series.error().message;
        EXPECT_FALSE(call("Series", {{"labelNames", labels}}).ok());
    }
    EXPECT_EQ(
        (*call("SelectSeries", {{"groupBy", {"rack", "arch"}}, {"step", 1.0}}))["series"][0]["points"][0]["value"], 5);
}

TEST_F(QuerierTest, SeriesOfAllLabelsLeaveOutThoseThatNoColumnHas) {
    const auto series = call("Series", Json::object());
    ASSERT_TRUE(series.ok()) << series.error().message;
    EXPECT_EQ(series->dump().find("a,b"), std::string::npos) << series->dump();
    EXPECT_NE(series->dump().find("rack"), std::string::npos) << series->dump();
}

TEST_F(QuerierTest, ManySelectorsAreRefusedBeforeTheFirstQuery) {
    EXPECT_TRUE(call("LabelNames", {{"matchers", std::vector<std::string>(64, "{}")}}).ok());
    queries_.clear();
    const auto names = call("LabelNames", {{"matchers", std::vector<std::string>(65, "{}")}});
    ASSERT_FALSE(names.ok());
    EXPECT_EQ(names.error().message, "matchers: 65 selectors are more than 64");
    EXPECT_TRUE(queries_.empty());
}

TEST_F(QuerierTest, SeriesOfACallSiteAreOfRowsBelowIt) {
    const Json site{{"callSite", {{{"name", "main"}}, {{"name", "a;b\\"}}}}};
    const auto series = call("SelectSeries", {{"stackTraceSelector", site}, {"step", 0.05}, {"groupBy", {"rack"}}});
    ASSERT_TRUE(series.ok()) << series.error().message;
    EXPECT_EQ(queries_.back().command, "series");
    EXPECT_EQ(std::get<std::string>(queries_.back().values.at("below")), "main;a\\;b\\\\");
    EXPECT_EQ(std::get<std::string>(queries_.back().values.at("by")), "rack");
}

TEST_F(QuerierTest, AProfileOfACallSiteIsOfRowsBelowIt) {
    const auto site = [](const char* root) { return Json{{"callSite", {{{"name", root}}, {{"name", "a;b\\"}}}}}; };
    profile_ = "profile";
    const Json request{{"profileTypeID", kCpu}, {"start", 1}, {"end", 2}, {"stackTraceSelector", site("main")}};
    EXPECT_EQ(*querier_.pprof(request), profile_);
    EXPECT_EQ(queries_.back().command, "export");
    EXPECT_EQ(std::get<std::string>(queries_.back().values.at("below")), "main;a\\;b\\\\");
    Json nameless = request;
    nameless["stackTraceSelector"] = site("");
    EXPECT_EQ(*querier_.pprof(nameless), "");
}

TEST_F(QuerierTest, AGraphOfSpansIsEmptyWhateverTheType) {
    const auto graph =
        querier_.call("SelectMergeStacktraces", {{"profileTypeID", "cpu"}, {"format", 3}, {"spanSelector", {"0102"}}});
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    EXPECT_NE((*graph)["dot"].get<std::string>().find("accounting for 0, 0% of 0 total"), std::string::npos) << *graph;
}

TEST_F(QuerierTest, AHeatMapHasNoMoreSlicesThanSeriesMayHave) {
    // 550 points of 20 slices each of 1.45 ms: rounded down to 1 ms they would be too many.
    const auto heat = querier_.call("SelectHeatmap", {{"profileTypeID", kCpu},
                                                      {"start", 1'700'000'000'000},
                                                      {"end", 1'700'000'000'000 + 549 * 29},
                                                      {"step", 0.029}});
    EXPECT_TRUE(heat.ok()) << heat.error().message;
}

TEST_F(QuerierTest, AProfileThatIsReadAsAMessageHasASmallerLimit) {
    profile_ = std::string(20U << 20, '\0');
    EXPECT_EQ(querier_.pprof({{"profileTypeID", kCpu}, {"start", 1}, {"end", 2}})->size(), profile_.size());
    for (const char* method : {"SelectMergeProfile", "SelectMergeStacktraces"}) {
        const auto profile = call(method, {{"format", 4}});
        ASSERT_FALSE(profile.ok()) << method;
        EXPECT_EQ(profile.error().code, ErrorCode::kTooLarge) << method;
    }
}

TEST_F(QuerierTest, ServicesAreChosenByTheirPattern) {
    const auto graph =
        call("SelectMergeStacktraces", {{"labelSelector", R"({service_name=~"com.",service_name!="x"})"}});
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    EXPECT_EQ(queries_.back().command, "tree");
    EXPECT_EQ(std::get<std::string>(queries_.back().values.at("comm")), "comm");
    queries_.clear();
    EXPECT_TRUE(call("SelectMergeStacktraces", {{"labelSelector", R"({service_name=~"other"})"}}).ok());
    EXPECT_NE(queries_.back().command, "tree") << "no service has this name";
}

}  // namespace
}  // namespace perfleet::pyroscope
