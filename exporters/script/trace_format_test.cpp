#include "exporters/script/trace_format.h"

#include <gtest/gtest.h>

#include <random>

#include "exporters/script/print_format.h"

namespace perfleet {
namespace {

constexpr const char* kCommon =
    "name: demo\nID: 900\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

constexpr const char* kFields =
    "\tfield:int value;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:char word[8];\toffset:12;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc char[] text;\toffset:20;\tsize:4;\tsigned:0;\n"
    "\tfield:u16 pair[2];\toffset:24;\tsize:4;\tsigned:0;\n\n";

std::string format_of(const std::string& print) {
    return std::string{kCommon} + kFields + "print fmt: " + print + "\n";
}

TraceFormat::Function no_function(std::uint64_t) { return {}; }

template <class T>
void put(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string row(std::uint32_t text_place = 28 | 6U << 16U) {
    std::string bytes;
    put(bytes, std::uint16_t{900});
    put(bytes, std::uint16_t{0});
    put(bytes, std::int32_t{7});
    put(bytes, std::int32_t{-5});
    bytes += std::string{"one\0\0\0\0\0", 8};
    put(bytes, text_place);
    put(bytes, std::uint16_t{3});
    put(bytes, std::uint16_t{4});
    return bytes + std::string{"hello\0", 6};
}

std::string text_of(const std::string& print, const std::string& bytes = row()) {
    return TraceFormat{"sys", format_of(print),
                       [](std::uint64_t address) {
                           return TraceFormat::Function{"function", address - 2};
                       }}
        .text(0, bytes);
}

TEST(TraceFormat, PrintsAsTheFormatSays) {
    EXPECT_EQ(text_of(R"("value=%d word=%s text=%s", REC->value, REC->word, __get_str(text))"),
              "value=-5 word=one text=hello");
    EXPECT_EQ(text_of(R"("%s", __print_symbolic(REC->value, { 1, "a" }, { 0xfffffffb, "minus five" }))"), "minus five");
    EXPECT_EQ(text_of(R"("%d %s", REC->pair[1] / 2, REC->pair[0] < 4 ? "low" : "high")"), "2 low");
    EXPECT_EQ(text_of(R"("%ps %pS", (void *)REC->value, (void *)REC->value)"), "function function+0x2");
}

TEST(TraceFormat, GivesFieldsByName) {
    const TraceFormat format{"sys", format_of("\"\""), no_function};
    const auto fields = format.fields(row());
    ASSERT_EQ(fields.size(), 4U);
    EXPECT_EQ(fields[0], (std::pair<std::string, TraceFormat::Value>{"value", std::int64_t{-5}}));
    EXPECT_EQ(fields[1], (std::pair<std::string, TraceFormat::Value>{"word", std::string{"one"}}));
    EXPECT_EQ(fields[2], (std::pair<std::string, TraceFormat::Value>{"text", std::string{"hello"}}));
    EXPECT_EQ(fields[3], (std::pair<std::string, TraceFormat::Value>{"pair", std::vector<std::uint64_t>{3, 4}}));
    EXPECT_EQ(format.fields(row().substr(0, 22)).size(), 2U) << "a row that was cut has its first fields";
}

TEST(TraceFormat, EvaluatesNoFormatThatCanLeaveTheRow) {
    const std::vector<TraceField> fields = parse_trace_layout(format_of("")).fields;
    ASSERT_EQ(fields.size(), 8U);
    for (const char* print :
         {R"("%d", REC->nothing)", R"("%d", REC->value +)", R"("%d" REC->value)", R"("%d, REC->value)",
          R"("%d", __get_str(word))", R"("%d", REC->value / REC->value)", R"("%d", REC->value % 0)",
          R"("%d", REC->pair[REC->value])", R"("%d", REC->pair[123456])",
          R"("%s", __print_array(REC->pair, REC->value, 2))", R"("%s", __print_hex(REC->word, 1000000))",
          R"("%*d", REC->value, 1)", R"("%99999999d", 1)"}) {
        EXPECT_FALSE(is_safe_print_format(print, fields)) << print;
        EXPECT_NE(text_of(print).find("value=-5"), std::string::npos) << text_of(print);
    }
    EXPECT_FALSE(is_safe_print_format("\"\", " + std::string(100, '(') + "1" + std::string(100, ')'), fields));
    EXPECT_TRUE(is_safe_print_format(R"("%d%% of a/b [x]", REC->value / 1000, REC->pair[1])", fields));
}

TEST(TraceFormat, OfNoUseHasNoText) {
    for (const std::string format : {"", "print fmt: \"x\"", "nonsense"}) {
        EXPECT_EQ((TraceFormat{"sys", format, no_function}.text(0, row())), "") << format;
    }
    std::string far = format_of("\"%d\", REC->value");
    far.replace(far.find("offset:8"), 8, "offset:2000000000");
    EXPECT_EQ((TraceFormat{"sys", far, no_function}.text(0, row())), "");
}

// Under the sanitizers: rows with any dynamic fields, cut anywhere.
TEST(TraceFormat, BrokenRowsAreHarmless) {
    std::mt19937 random{5};
    TraceFormat format{"sys", format_of(R"("%s %d %s", __get_str(text), REC->pair[1], REC->word)"), no_function};
    for (int i = 0; i < 2'000; ++i) {
        std::string bytes = row(static_cast<std::uint32_t>(random()));
        bytes.resize(random() % (bytes.size() + 1));
        static_cast<void>(format.text(0, bytes));
        static_cast<void>(format.fields(bytes));
    }
}

// Formats with a byte changed, cut or repeated.
TEST(TraceFormat, BrokenFormatsAreHarmless) {
    std::mt19937 random{6};
    const std::string whole = format_of(
        R"("%s %d %s", __get_str(text), REC->value < 0 ? REC->pair[1] : 7, __print_flags(REC->value, "|", { 1, "a" }))");
    for (int i = 0; i < 3'000; ++i) {
        std::string broken = whole;
        for (unsigned change = 0; change < 1 + random() % 3; ++change) {
            const std::size_t at = random() % broken.size();
            switch (random() % 3) {
                case 0: broken[at] = static_cast<char>(random() % 128); break;
                case 1: broken.erase(at, 1 + random() % 8); break;
                default: broken.insert(at, broken.substr(random() % broken.size(), random() % 16)); break;
            }
        }
        TraceFormat format{"sys", broken, no_function};
        static_cast<void>(format.text(0, row()));
        static_cast<void>(format.fields(row()));
    }
}

}  // namespace
}  // namespace perfleet
