#include "query-engine/wire/query_message.h"

#include <gtest/gtest.h>

#include <random>

namespace perfleet {
namespace {

using namespace query_message;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span{text}); }

template <class Body>
Body carried(const Body& body) {
    const Result<QueryMessage> message = decode_query_message_untrusted(bytes_of(encode_query_message({7, body})));
    EXPECT_TRUE(message.ok());
    EXPECT_EQ(message->query, 7U);
    return std::get<Body>(message->body);
}

TEST(QueryMessage, CarriesEveryField) {
    const Ask ask = carried(Ask{
        "top", {{"select", "{a=\"\xff\"}"}, {"limit", std::uint64_t{3}}, {"weight", true}, {"min-percent", 0.5}}, 9});
    EXPECT_EQ(ask.command, "top");
    EXPECT_EQ(ask.options,
              (OptionValues{
                  {"select", "{a=\"\xff\"}"}, {"limit", std::uint64_t{3}}, {"weight", true}, {"min-percent", 0.5}}));
    EXPECT_EQ(ask.chunk_count, 9U);
    EXPECT_EQ(carried(More{3}).chunk_count, 3U);
    carried(Cancel{});
    EXPECT_EQ(carried(Working{3, 9}).done, 3U);
    EXPECT_EQ(carried(Working{3, 9}).total, 9U);
    const Columns columns = carried(Columns{{{"self", "samples", true}, {"symbol", "", false}}});
    ASSERT_EQ(columns.columns.size(), 2U);
    EXPECT_EQ(columns.columns[0].name, "self");
    EXPECT_EQ(columns.columns[0].unit, "samples");
    EXPECT_TRUE(columns.columns[0].is_optional);
    const std::vector<AnswerValue> row{AnswerValue{}, std::string{"a\0b", 3}, std::int64_t{-5}, ~std::uint64_t{0}, 0.1};
    EXPECT_EQ(carried(Rows{{row, {}}}).rows, (std::vector<std::vector<AnswerValue>>{row, {}}));
    const Bytes bytes = carried(Bytes{1ULL << 40U, "xyz"});
    EXPECT_EQ(bytes.offset, 1ULL << 40U);
    EXPECT_EQ(bytes.bytes, "xyz");
    QueryEnd end;
    end.ledger = {10, 5, 1, {{"kernel_ring", 3}}, 1, 4};
    end.warnings = {"one", "two"};
    end.modified = UtcNs{-4};
    end.summary = "4 samples";
    end.parts = {{"before", {7, 4, 1, {{"kernel_ring", 2}}, 0}}, {"after", {3, 1, 0, {{"kernel_ring", 1}}, 1, 1}}};
    const QueryEnd got = carried(end);
    EXPECT_EQ(got.ledger, end.ledger);
    EXPECT_EQ(got.warnings, end.warnings);
    EXPECT_EQ(got.modified, end.modified);
    EXPECT_EQ(got.summary, end.summary);
    EXPECT_EQ(got.parts, end.parts);
    EXPECT_EQ(carried(Error{ErrorCode::kNotFound, "no"}).message, "no");
}

TEST(QueryMessage, OfAnotherVersionIsRefusedByName) {
    constexpr std::size_t kVersionOffset = 24;  // behind the segment table, the root pointer and the magic number
    std::string message = encode_query_message({1, Working{}});
    ASSERT_EQ(message.substr(kVersionOffset, 2), std::string("\1\0", 2));
    message[kVersionOffset] = 2;
    const auto read = decode_query_message_untrusted(bytes_of(message));
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(read.error().message, "query message: version 2, this program speaks 1; use programs of one release");
}

TEST(QueryMessage, OtherBytesAreRefused) {
    EXPECT_FALSE(decode_query_message_untrusted({}).ok());
    EXPECT_FALSE(decode_query_message_untrusted(bytes_of("GET / HTTP/1.0\r\n")).ok());
    const std::string good = encode_query_message({1, Working{}});
    for (std::size_t size = 0; size < good.size(); ++size) {
        EXPECT_FALSE(decode_query_message_untrusted(bytes_of(good.substr(0, size))).ok());
    }
}

TEST(QueryMessage, BrokenBytesNeverCrash) {
    QueryEnd end;
    end.warnings = {"a warning", "another"};
    end.ledger.lost = {{"kernel_ring", 5}};
    const std::vector<std::string> messages{
        encode_query_message(
            {1,
             Ask{"top", {{"limit", std::uint64_t{3}}, {"weight", true}, {"min-percent", 0.5}, {"by", "symbol"}}, 4}}),
        encode_query_message({2, Columns{{{"a", "b", false}, {"c", "d", true}}}}),
        encode_query_message({3, Rows{{{std::string{"text"}, std::uint64_t{1}}, {1.5}}}}),
        encode_query_message({4, end})};
    std::mt19937_64 random{11};
    std::size_t refused = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string message = messages[random() % messages.size()];
        for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
            message[random() % message.size()] = static_cast<char>(random());
        }
        refused += decode_query_message_untrusted(bytes_of(message)).ok() ? 0 : 1;
    }
    EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace perfleet
