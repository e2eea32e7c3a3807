#include <gtest/gtest.h>

#include <string>

#include "schemas/text/hex.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

TEST(Hex, GivesBytesAndTakesThemBack) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) {
        all += static_cast<char>(byte);
    }
    EXPECT_EQ(hex_of(std::string_view{"\x00\x7f\xa5\xff", 4}), "007fa5ff");
    EXPECT_EQ(hex_of(""), "");
    EXPECT_EQ(bytes_of_hex(hex_of(all)), all);
    EXPECT_EQ(bytes_of_hex("A5fF"), "\xa5\xff");
    EXPECT_EQ(bytes_of_hex(""), "");
    for (const char* text : {"a", "abc", "0x", "g0", "0g", "-1", "+1", " 1", "1 ", "ab "}) {
        EXPECT_FALSE(bytes_of_hex(text)) << text;
    }
}

TEST(Utf8, BytesThatAreNotUtf8AreReplaced) {
    EXPECT_EQ(valid_utf8("a\xffz"), "a\xef\xbf\xbdz");
    EXPECT_EQ(valid_utf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");                  // overlong
    EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // surrogate
    EXPECT_EQ(valid_utf8("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");                  // cut off
    EXPECT_EQ(valid_utf8("€ 😀 é"), "€ 😀 é");
    EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Utf8, ControlCharactersAreEscaped) {
    EXPECT_EQ(printable("a\x1b[2Jb\nc\r\t\x7f"), "a\\x1b[2Jb\\nc\\x0d\\x09\\x7f");
    EXPECT_EQ(printable(std::string_view{"a\0b", 3}), "a\\x00b");
    EXPECT_EQ(printable("\xc2\x9b"
                        "2J"),
              "\\u009b2J");
    EXPECT_EQ(printable("a\xffz\xe2\x82"), "a\\xffz\\xe2\\x82");
    EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // past the last character
    EXPECT_EQ(printable("Größe € 𝄞 日本"), "Größe € 𝄞 日本");
}

// "admin\u202e…" would show what follows from right to left (CVE-2021-42574).
TEST(Utf8, CharactersThatChangeTheDirectionAreEscaped) {
    EXPECT_EQ(printable("a\u202eb"), "a\\u202eb");
    for (const char32_t code_point : {0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067,
                                      0x2068, 0x2069, 0x2028, 0x2029, 0x80, 0x9f}) {
        EXPECT_TRUE(is_control(code_point)) << static_cast<unsigned>(code_point);
    }
    for (const char32_t code_point : {0x61b, 0x61d, 0x200d, 0x2010, 0x2027, 0x202f, 0x2065, 0x206a, 0xa0}) {
        EXPECT_FALSE(is_control(code_point)) << static_cast<unsigned>(code_point);
    }
}

TEST(Utf8, JsonKeepsItsMeaning) {
    EXPECT_EQ(printable_json("{\"a\":\"\u202e\x7fä\\n\"}"), "{\"a\":\"\\u202e\\u007fä\\n\"}");
}

TEST(Layout, WidthIsInColumnsOfATerminal) {
    EXPECT_EQ(text_width("grün"), 4U);
    EXPECT_EQ(text_width("日本語"), 6U);
    EXPECT_EQ(text_width("😀"), 2U);
    EXPECT_EQ(text_width("e\u0301"), 1U);  // combining acute accent
    EXPECT_EQ(text_width("…"), 1U);
}

TEST(Layout, WhatIsTooWideIsCutInTheMiddle) {
    EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
    EXPECT_EQ(shortened("abcdefghijk", 10), "abcde…hijk");
    EXPECT_EQ(shortened("abcdefghijk", 3), "a…k");
    EXPECT_EQ(shortened("äöüäöüäöü", 5), "äö…öü");
    EXPECT_EQ(shortened("日本語日本語日本語", 8), "日本…語");
    for (std::size_t width = 1; width < 30; ++width) {
        EXPECT_LE(text_width(shortened("日本語 mixed with ASCII 日本語", width)), width);
    }
}

TEST(Layout, IndentationStaysAndShrinksForTheWords) {
    EXPECT_EQ(shortened("  abcdefghijklmnopqrstuvwxyz", 24), "  abcdefghijk…qrstuvwxyz");
    EXPECT_EQ(shortened(std::string(40, ' ') + "main", 24), std::string(4, ' ') + "main");
    EXPECT_EQ(shortened(std::string(40, ' ') + "abcdefghijklmnopqrstuvwxyz", 24),
              std::string(4, ' ') + "abcdefghij…rstuvwxyz");
}

TEST(Layout, LinesAreWrappedAtBlanks) {
    EXPECT_EQ(wrapped("one two three", 20), "one two three");
    EXPECT_EQ(wrapped("one two three", 8, "  "), "one two\n  three");
    EXPECT_EQ(wrapped("one\ntwo  three\n", 80), "one\ntwo  three\n");
    EXPECT_EQ(wrapped("a-word-that-is-too-long b", 5), "a-word-that-is-too-long\nb");
    EXPECT_EQ(wrapped("日本 日本", 5), "日本\n日本");
    EXPECT_EQ(wrapped("", 5), "");
    EXPECT_EQ(wrapped("one,two,three,four five", 9), "one,two,\nthree,\nfour five");
    EXPECT_EQ(wrapped("of one,two,three", 9, " "), "of\n one,two,\n three");
    EXPECT_EQ(wrapped("a one,two b", 20), "a one,two b");
}

TEST(Layout, DigitsOfNumbersAreGrouped) {
    EXPECT_EQ(with_grouped_digits("12345 of -1234567.891011 rows"), "12,345 of -1,234,567.891011 rows");
    EXPECT_EQ(with_grouped_digits("1234, 100000%"), "1234, 100,000%");
    EXPECT_EQ(with_grouped_digits("(12345 rows, 100000 lost)"), "(12,345 rows, 100,000 lost)");
    for (const char* same :
         {"", "1234", "session 12345678a", "0x1234567", "a12345", "0.1234567", "12345_6", "session 12345678 of",
          "process 12345 has", "(pid 123456)", "-c 100000", "--correct 11391.0,23183.0", "tcp://127.0.0.1:50000",
          "/proc/12345/maps", "{turn=\"12345\"}", "batch=12345"}) {
        EXPECT_EQ(with_grouped_digits(same), same);
    }
}

}  // namespace
}  // namespace perfleet
