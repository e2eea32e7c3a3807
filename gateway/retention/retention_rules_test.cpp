#include "gateway/retention/retention_rules.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>

namespace perfleet {
namespace {

constexpr std::int64_t kDayS = 86'400;

RetentionRules rules(std::string_view text) {
    auto parsed = parse_retention_rules(text, "classes");
    EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
    return parsed.ok() ? *parsed : RetentionRules{};
}

std::string refusal(std::string_view text) {
    const auto parsed = parse_retention_rules(text, "classes");
    EXPECT_FALSE(parsed.ok()) << text;
    if (parsed.ok()) {
        return {};
    }
    EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
    return parsed.error().message;
}

SessionRecord session(std::vector<std::pair<std::string, std::string>> labels, const std::vector<Kind>& kinds) {
    SessionRecord record;
    record.target_name = "board-7";
    record.labels = std::move(labels);
    for (const Kind kind : kinds) {
        record.events.push_back({});
        record.events.back().kind = kind;
    }
    return record;
}

TEST(RetentionRules, SayHowLongAndHowMuchOfEachClassIsKept) {
    const RetentionRules read = rules(R"(# who is kept how long
class dev    1   {env="dev"}                          keep 3d   # soon gone

	class traces 200 {rack=~"r1.*"} with tracepoint,sample keep 20g 36h
class meters 3   only counter                         keep 52W
class old    4   none                                 keep forever
default                                               keep 30d 2T
)");
    ASSERT_EQ(read.classes.size(), 4U);
    EXPECT_EQ(read.classes[0].name, "dev");
    EXPECT_EQ(read.classes[0].number, 1);
    EXPECT_EQ(read.classes[0].policy.age_s, 3 * kDayS);
    EXPECT_EQ(read.classes[0].policy.size_bytes, std::nullopt);
    EXPECT_EQ(read.classes[1].number, 200);
    EXPECT_EQ(read.classes[1].policy.age_s, 36 * 3'600);
    EXPECT_EQ(read.classes[1].policy.size_bytes, 20ULL << 30);
    EXPECT_EQ(read.classes[2].policy.age_s, 364 * kDayS);
    EXPECT_TRUE(read.classes[3].policy.keeps_everything());
    EXPECT_EQ(read.rest.age_s, 30 * kDayS);
    EXPECT_EQ(read.rest.size_bytes, 2ULL << 40);
    EXPECT_FALSE(read.keeps_everything());
    EXPECT_TRUE(rules("").keeps_everything());
    EXPECT_TRUE(rules("class a 1 {} keep forever").keeps_everything());
    EXPECT_FALSE(rules("class a 1 {} keep 1h\n").keeps_everything());
}

TEST(RetentionRules, TakeASessionIntoTheFirstClassThatFits) {
    const RetentionRules read = rules(R"(class gone 9 none keep 1h
class dev 1 {env="dev", target!="board-1"} keep 3d
class traces 2 with tracepoint,latency keep 14d
class meters 3 {env=~"p.*"} only counter,utilisation keep 52w
class prod 4 {env="prod"} keep 26w
)");
    EXPECT_EQ(read.class_of(session({{"env", "dev"}}, {Kind::kTracepoint})), 1);
    EXPECT_EQ(read.class_of(session({}, {Kind::kSample, Kind::kLatency})), 2);
    EXPECT_EQ(read.class_of(session({{"env", "prod"}}, {Kind::kCounter, Kind::kUtilisation, Kind::kCounter})), 3);
    EXPECT_EQ(read.class_of(session({{"env", "prod"}}, {Kind::kCounter, Kind::kSample})), 4);
    EXPECT_EQ(read.class_of(session({{"env", "prod"}}, {})), 4) << "it announced nothing: no counters alone";
    EXPECT_EQ(read.class_of(session({{"env", "test"}}, {Kind::kCounter})), 0);
    EXPECT_EQ(read.class_of(session({}, {})), 0);
}

TEST(RetentionRules, MayHaveWhatLooksLikeSyntaxInTheirStrings) {
    const RetentionRules read = rules(R"(class odd 1 { env = "a} keep 1h # \"x\"" } keep 3d)");
    EXPECT_EQ(read.class_of(session({{"env", R"(a} keep 1h # "x")"}}, {})), 1);
}

TEST(RetentionRules, AreRefusedWithTheirLine) {
    const std::pair<const char*, const char*> refused[] = {
        {"\n\nkeep 3d", "classes:3: a line begins with"},
        {"class", "is called by letters"},
        {"class a/b 1 {} keep 1d", "is called by letters"},
        {"class default 1 {} keep 1d", "and not `default`"},
        {"class a {} keep 1d", "class a needs a number from 1 to 255"},
        {"class a 0 {} keep 1d", "from 1 to 255"},
        {"class a 256 {} keep 1d", "from 1 to 255"},
        {"class a 1 {} keep 1d\nclass b 1 {} keep 1d", "classes:2: another class has the number 1"},
        {"class a 1 {} keep 1d\nclass a 2 {} keep 1d", "classes:2: another class has the name a"},
        {"class a 1 keep 1d", "doesn't say whom it takes in"},
        {"class a 1 {} none keep 1d", "its limits are missing"},
        {"class a 1 {env} keep 1d", "classes:1: expected =, !=, =~ or !~ at position 5"},
        {"class a 1 {env=~\"(\"} keep 1d", "classes:1: regular expression"},
        {"class a 1 with keep 1d", "no kind is called \"keep\"; there are sample, tracepoint,"},
        {"class a 1 with sample, counter keep 1d", "no kind is called \"\""},
        {"class a 1 with stack keep 1d", "no kind is called \"stack\""},
        {"class a 1 {}", "its limits are missing"},
        {"class a 1 {} keep", "its limits are missing"},
        {"class a 1 {} keep 1d 2d", "\"2d\" can't be parsed"},
        {"class a 1 {} keep 1g 2g", "\"2g\" can't be parsed"},
        {"class a 1 {} keep 30", "\"30\" can't be parsed"},
        {"class a 1 {} keep 0h", "\"0h\" can't be parsed"},
        {"class a 1 {} keep -1h", "\"-1h\" can't be parsed"},
        {"class a 1 {} keep 99999999d", "can't be parsed"},
        {"class a 1 {} keep 99999999999999999999t", "can't be parsed"},
        {"class a 1 {} keep forever 3d", "nothing may follow"},
        {"default 3d", "its limits are missing"},
        {"default keep 3d\ndefault keep 4d", "classes:2: there is one line `default`"},
    };
    for (const auto& [text, words] : refused) {
        EXPECT_NE(refusal(text).find(words), std::string::npos) << text << "\n" << refusal(text);
    }
    std::string many;
    for (std::size_t i = 1; i <= RetentionRules::kClassesMax; ++i) {
        many += "class c" + std::to_string(i) + " " + std::to_string(i) + " {} keep 1d\n";
    }
    EXPECT_EQ(rules(many).classes.size(), RetentionRules::kClassesMax);
    EXPECT_NE(refusal(many + "class more 99 {} keep 1d").find("more than 16 classes"), std::string::npos);
}

TEST(RetentionRules, AreReadFromAFile) {
    const std::string file = testing::TempDir() + "perfleet-retention-rules-" + std::to_string(::getpid());
    const auto missing = load_retention_rules(file);
    ASSERT_FALSE(missing.ok());
    EXPECT_NE(missing.error().message.find(file), std::string::npos);
    const auto write = [&](const std::string& text) {
        std::FILE* const out = std::fopen(file.c_str(), "w");
        ASSERT_NE(out, nullptr);
        std::fwrite(text.data(), 1, text.size(), out);
        std::fclose(out);
    };
    write("default keep 12h");
    const auto read = load_retention_rules(file);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->rest.age_s, 12 * 3'600);
    write("default keep\n");
    EXPECT_EQ(load_retention_rules(file).error().message.find(file + ":1: its limits are missing"), 0U);
    write(std::string(RetentionRules::kFileSizeBytesMax + 1, '\n'));
    EXPECT_NE(load_retention_rules(file).error().message.find("larger than"), std::string::npos);
    std::remove(file.c_str());
    EXPECT_FALSE(load_retention_rules(testing::TempDir()).ok()) << "a folder";
}

}  // namespace
}  // namespace perfleet
