#include "query-engine/http/message_type.h"

#include <gtest/gtest.h>

#include <limits>

namespace perfleet {
namespace {

const MessageType kInner{{{1, "name", FieldType::kString}, {2, "at_ns", FieldType::kInt64}}};
const MessageType kOuter{{{1, "profile_typeID", FieldType::kString},
                          {2, "counts", FieldType::kInt64, true},
                          {3, "inner", FieldType::kMessage, true, &kInner},
                          {4, "step", FieldType::kDouble},
                          {5, "is_on", FieldType::kBool},
                          {6, "format", FieldType::kEnum, false, nullptr, {"FORMAT_NONE", "FORMAT_A"}},
                          {7, "small", FieldType::kInt32},
                          {8, "large", FieldType::kUint64},
                          {9, "y_min", FieldType::kDouble, true},
                          {10, "times", FieldType::kFixed64, true},
                          {11, "bytes", FieldType::kBytes},
                          {12, "id", FieldType::kHexBytes},
                          {200, "label_names", FieldType::kString, true}}};

Json example() {
    return {{"profileTypeID", "a:b"},
            {"counts", {1, -5, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}},
            {"inner", {{{"name", "x"}, {"atNs", 1'700'000'000'000'000'000}}, {{"name", "ü"}}}},
            {"step", 15.5},
            {"isOn", true},
            {"format", 1},
            {"small", -7},
            {"large", std::numeric_limits<std::uint64_t>::max()},
            {"yMin", {0.5, -1.0}},
            {"times", {0U, std::numeric_limits<std::uint64_t>::max()}},
            {"bytes", std::string("\xff\0\x01\x02", 4)},
            {"id", "\x12\xab"},
            {"labelNames", {"service_name", ""}}};
}

TEST(MessageType, BothEncodingsReadBackAsTheSame) {
    EXPECT_EQ(*read_protobuf(kOuter, write_protobuf(kOuter, example())), example());
    EXPECT_EQ(*read_json(kOuter, write_json(kOuter, example())), example());
    EXPECT_EQ(*read_protobuf(kOuter, ""), Json::object());
    EXPECT_EQ(*read_json(kOuter, "{}"), Json::object());
}

TEST(MessageType, ProtobufIsWhatProtocWrites) {
    // echo 'profile_typeID: "ab" counts: [1, 300] step: 1' | protoc --encode
    EXPECT_EQ(write_protobuf(kOuter, {{"profileTypeID", "ab"}, {"counts", {1, 300}}, {"step", 1.0}}),
              std::string("\x0a\x02"
                          "ab\x12\x03\x01\xac\x02\x21\0\0\0\0\0\0\xf0\x3f",
                          18));
    EXPECT_EQ(write_protobuf(kOuter, {{"inner", {Json::object(), {{"name", "x"}}}}}),
              std::string("\x1a\0\x1a\x03\x0a\x01x", 7))
        << "an empty message has its place";
    // Repeated numbers one by one, too.
    EXPECT_EQ(*read_protobuf(kOuter, std::string("\x10\x01\x10\x02\x12\x01\x03", 7)), (Json{{"counts", {1, 2, 3}}}));
    EXPECT_EQ(*read_protobuf(kOuter, "\xf8\x7f\x01"), Json::object()) << "an unknown field";
}

TEST(MessageType, JsonIsThatOfProto3) {
    EXPECT_EQ(write_json(kOuter, {{"counts", {1, -5}}, {"large", 18'446'744'073'709'551'615U}, {"small", 3}}),
              R"({"counts":["1","-5"],"small":3,"large":"18446744073709551615"})");
    // Names in either spelling, whole numbers as text, numbers or 1e3, unknown names, null as absent.
    const auto read =
        read_json(kOuter, R"({"profile_typeID":"a","label_names":["b"],"counts":["7",8,9e3],"format":"FORMAT_A",
                              "unknown":{"a":[1]},"step":2,"isOn":null})");
    EXPECT_EQ(
        *read,
        (Json{{"profileTypeID", "a"}, {"labelNames", {"b"}}, {"counts", {7, 8, 9'000}}, {"format", 1}, {"step", 2.0}}));
    EXPECT_EQ(*read_json(kOuter, R"({"format":"FORMAT_OF_TOMORROW"})"), (Json{{"format", 0}}));
}

TEST(MessageType, WhatDoesntFitIsRefusedByName) {
    for (const auto& [text, where] :
         std::vector<std::pair<std::string, std::string>>{{"", "body"},
                                                          {"[1]", "body"},
                                                          {"{\"a\":", "body"},
                                                          {R"({"counts":1})", "body.counts"},
                                                          {R"({"counts":["x"]})", "body.counts"},
                                                          {R"({"counts":[1.5]})", "body.counts"},
                                                          {R"({"small":3000000000})", "body.small"},
                                                          {R"({"large":-1})", "body.large"},
                                                          {R"({"inner":[{"atNs":true}]})", "body.inner.atNs"},
                                                          {R"({"profileTypeID":1})", "body.profileTypeID"}}) {
        const auto read = read_json(kOuter, text);
        ASSERT_FALSE(read.ok()) << text;
        EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
        EXPECT_EQ(read.error().message.find(where + ": "), 0U) << read.error().message;
    }
    const std::string whole = write_protobuf(kOuter, example());
    for (std::size_t size = 1; size < whole.size(); ++size) {
        (void)read_protobuf(kOuter, whole.substr(0, size));  // an error, or what is whole up to there
    }
    EXPECT_FALSE(read_protobuf(kOuter, "\x0a\x7f").ok());
    EXPECT_FALSE(read_protobuf(kOuter, "\x08\x01").ok()) << "a number where a text should be";
}

TEST(MessageType, DeepJsonNeedsNeitherStackNorMemory) {
    std::string deep(500'000, '[');
    EXPECT_FALSE(read_json(kOuter, deep).ok());
    deep += std::string(500'000, ']');
    for (const std::string& text : {deep, "{\"unknown\":" + deep + "}"}) {
        const auto read = read_json(kOuter, text);
        ASSERT_FALSE(read.ok());
        EXPECT_EQ(read.error().message, "body: has more than 32 levels");
    }
    EXPECT_EQ(*read_json(kOuter, R"({"unknown":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[[","label_names":["\\"]})"),
              (Json{{"labelNames", {"\\"}}}))
        << "brackets in strings";
    EXPECT_EQ(read_json(kOuter, "]]" + deep).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(*read_json(kOuter, R"({"unknown":[[[[[[[[[[{"a":[]}]]]]]]]]]]})"), Json::object());
}

TEST(MessageType, JsonOfManySmallValuesIsRefusedBeforeItTakesMemory) {
    for (const std::string value : {"{},", "[],", "\"\":[],", "0,"}) {
        std::string text = value.starts_with('"') ? R"({"unknown":{)" : R"({"unknown":[)";
        const std::size_t head_size = text.size();
        for (std::size_t i = 0; i < (8U << 20) / value.size(); ++i) {
            text += value;
        }
        text.back() = text[head_size - 1] == '{' ? '}' : ']';
        text += '}';
        const auto read = read_json(kOuter, text);
        ASSERT_FALSE(read.ok()) << value;
        EXPECT_EQ(read.error().code, ErrorCode::kTooLarge) << value;
        EXPECT_NE(read.error().message.find("send protobuf"), std::string::npos);
    }
    std::string text = R"({"counts":[12345)";  // as many as references of samples to stacks
    for (int i = 0; i < 1'000'000; ++i) {
        text += ",12345";
    }
    EXPECT_EQ((*read_json(kOuter, text + "]}"))["counts"].size(), 1'000'001U);
}

}  // namespace
}  // namespace perfleet
