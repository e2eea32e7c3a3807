// The service's answer is the same for every caller: here a reply that keeps it.
#include "query-engine/service/query_service.h"

#include <gtest/gtest.h>

#include <limits>

#include "query-engine/statistic/command.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "schemas/host/host_clock.h"
#include "storage/store/memory_store.h"

namespace perfleet::query_service_test {
namespace {

class KeptReply final : public QueryReply {
public:
    Result<Done> send_table(Answer answer) override {
        table = std::move(answer);
        return Done{};
    }
    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        EXPECT_EQ(offset, file.size());
        file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Done{};
    }
    [[nodiscard]] const std::atomic<bool>& cancelled() const override { return is_cancelled; }
    [[nodiscard]] ProgressReport progress() override {
        return [this](std::uint64_t rows, std::uint64_t) { rows_read = rows; };
    }

    Answer table;
    std::string file;
    std::atomic<bool> is_cancelled = false;
    std::uint64_t rows_read = 0;
};

ExportFormat format_of(const std::string& name, bool is_command) {
    ExportFormat format{.name = name, .summary = "", .is_command = is_command};
    format.options = {OptionSpec{"colour", OptionType::kText, "NAME", "its colour"}};
    format.write = [name](const ExportInput& input, ExportSink& sink) -> Result<QueryEnd> {
        const std::string text = name + " " + std::to_string(input.values.count("colour")) + " " +
                                 std::to_string(input.values.count("format"));
        PERFLEET_TRY(sink.write_at(0, std::as_bytes(std::span{text})));
        return QueryEnd{.modified = UtcNs{5}, .summary = "one text", .ledger = {}, .warnings = {}};
    };
    return format;
}

class QueryServiceTest : public testing::Test {
protected:
    void SetUp() override { deliver(make_scenario(9), DeliveryOrder{}, *store_); }

    [[nodiscard]] Result<QueryEnd> run(Query query) { return service_.run(std::move(query), reply_); }
    [[nodiscard]] std::string error_of(Query query) {
        const auto end = run(std::move(query));
        return end.ok() ? "" : end.error().message;
    }

    std::unique_ptr<Store> store_ = make_memory_store();
    std::vector<ExportFormat> formats_{format_of("text", false), format_of("drawing", true)};
    MemoryPool memory_{64U << 20U};
    QueryService service_{*store_, {}, formats_, &memory_};
    KeptReply reply_;
};

TEST_F(QueryServiceTest, AnswersATableAsTheStatisticDoes) {
    const auto end =
        run({"top", {{"by", std::string{"command"}}, {"threads", std::numeric_limits<std::uint64_t>::max()}}});
    ASSERT_TRUE(end.ok()) << end.error().message;
    const auto expected = run_query("top", {{"by", std::string{"command"}}}, *store_, {}, utc_now());
    ASSERT_TRUE(expected.ok());
    EXPECT_EQ(reply_.table.rows, expected->rows);
    EXPECT_FALSE(reply_.table.rows.empty());
    EXPECT_EQ(end->ledger.stored, expected->ledger.stored);
    EXPECT_EQ(end->warnings, expected->warnings);
}

TEST_F(QueryServiceTest, TellsHowManyRowsItRead) {
    ASSERT_TRUE(run({"tree", {}}).ok());
    EXPECT_GT(reply_.rows_read, 0U);
}

TEST_F(QueryServiceTest, WritesFilesOfTheFormatsThatItWasGiven) {
    const auto end = run({"export", {{"format", std::string{"text"}}, {"colour", std::string{"red"}}}});
    ASSERT_TRUE(end.ok()) << end.error().message;
    EXPECT_EQ(reply_.file, "text 1 0") << "the format's name is the service's option";
    EXPECT_EQ(end->summary, "one text");
    EXPECT_EQ(end->modified, UtcNs{5});
    reply_.file.clear();
    ASSERT_TRUE(run({"drawing", {}}).ok());
    EXPECT_EQ(reply_.file, "drawing 0 0");
}

TEST_F(QueryServiceTest, NamesWhatItDoesNotHave) {
    EXPECT_EQ(error_of({"tip", {}}), "this gateway has no command \"tip\"");
    EXPECT_EQ(error_of({"text", {}}), "this gateway has no command \"text\"") << "a format is no command";
    EXPECT_EQ(error_of({"export", {{"format", std::string{"drawing"}}}}), "this gateway doesn't export \"drawing\"");
    EXPECT_EQ(error_of({"export", {}}), "this gateway doesn't export \"\"");
    EXPECT_EQ(error_of({"export", {{"format", std::string{"text"}}, {"size", std::string{"1"}}}}),
              "text has no option --size");
    EXPECT_NE(error_of({"top", {{"size", std::string{"1"}}}}), "");
    EXPECT_TRUE(reply_.table.rows.empty());
    EXPECT_EQ(reply_.file, "");
}

TEST_F(QueryServiceTest, EndsWhereNobodyWaitsForTheAnswerAnyMore) {
    reply_.is_cancelled = true;
    const auto end = run({"tree", {}});
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().code, ErrorCode::kCancelled);
}

TEST_F(QueryServiceTest, KeepsWithinTheMemoryOfAllQueries) {
    MemoryPool little{1'000};
    const auto end = QueryService{*store_, {}, formats_, &little}.run({"top", {}}, reply_);
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace perfleet::query_service_test
