#include "tools/perfleet/function/function_code.h"

#include <gtest/gtest.h>

#include <sstream>

namespace perfleet {
namespace {

// "401000 push   %rbp", as objdump prints it behind the colon.
FunctionCode code_of(const std::string& text, CodeRange body = {0x1000, 0x1100}, CodeRange cold = {}) {
    std::vector<DisassembledLine> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) {
        if (const std::size_t gap = line.find_first_not_of(' '); gap != std::string::npos) {
            std::size_t used = 0;
            const std::uint64_t address = std::stoull(line.substr(gap), &used, 16);
            lines.push_back({true, address, line.substr(gap + used + 1)});
        }
    }
    return read_function_code(lines, body, cold);
}

std::vector<std::uint64_t> places_of(const FunctionCode& code) {
    std::vector<std::uint64_t> places;
    for (const CodeExit& exit : code.exits) {
        places.push_back(exit.address);
    }
    return places;
}

TEST(FunctionCode, EndsAtEachReturn) {
    const FunctionCode code = code_of(R"(
        1000 push   %rbp
        1001 je     1005 <f+0x5>
        1003 pop    %rbp
        1004 ret
        1005 call   2000 <g>
        100a repz ret
        100c ret    $0x8
        100f bnd ret
    )");
    EXPECT_EQ(places_of(code), (std::vector<std::uint64_t>{0x1004, 0x100a, 0x100c, 0x100f}));
    EXPECT_EQ(code.tail_call_count, 0U);
    EXPECT_EQ(code.unknown, "");
    EXPECT_FALSE(code.leads_to);
    EXPECT_FALSE(code.begins_again);
    EXPECT_TRUE(code.has_calls);
}

TEST(FunctionCode, EndsAtJumpsToOtherFunctions) {
    const FunctionCode code = code_of(R"(
        1000 jmp    1004 <f+0x4>
        1004 jmp    2000 <g>
        1009 jmp    *0x10(%rax)
        100c bnd jmp *0x2fe2(%rip)        # 4000 <g@GLIBC_2.2.5>
        1012 jmp    *0x2000(,%rax,8)
    )");
    EXPECT_EQ(places_of(code), (std::vector<std::uint64_t>{0x1004, 0x1009, 0x100c}));
    EXPECT_EQ(code.tail_call_count, 3U);
    EXPECT_FALSE(code.has_calls);
}

TEST(FunctionCode, JumpsThroughRegistersAreDecidedWhenTheyHappen) {
    const FunctionCode code = code_of("1000 notrack jmp *%rdx\n1003 jmp    *%r11");
    ASSERT_EQ(code.exits.size(), 2U);
    EXPECT_TRUE(code.exits[0].is_register_jump);
    EXPECT_EQ(code.exits[0].jump_register, 2U);
    EXPECT_EQ(code.exits[1].jump_register, 11U);
    EXPECT_EQ(code.tail_call_count, 0U);
}

TEST(FunctionCode, KnowsALoopToItsFirstInstruction) {
    EXPECT_TRUE(code_of("1000 dec    %rdi\n1003 jne    1000 <f>\n1005 ret").begins_again);
    EXPECT_TRUE(code_of("1000 dec    %rdi\n1003 jmp    1000 <f>\n1005 ret").begins_again);
    EXPECT_FALSE(code_of("1000 dec    %rdi\n1003 jne    1001 <f+0x1>\n1005 ret").begins_again);
}

TEST(FunctionCode, KnowsWhichFirstInstructionsAreSteppedOver) {
    EXPECT_TRUE(code_of("1000 push   %rbp\n1001 ret").is_first_emulated);
    EXPECT_TRUE(code_of("1000 jmp    2000 <g>").is_first_emulated);
    EXPECT_FALSE(code_of("1000 mov    %rsp,%rbp\n1003 push   %rbp").is_first_emulated);
    EXPECT_FALSE(code_of("1000 push   $0x1\n1002 ret").is_first_emulated);
}

TEST(FunctionCode, HasAColdPart) {
    const std::string text = "1000 jne    900 <f.cold>\n1006 ret\n900 call   2000 <g>\n905 jmp    1006 <f+0x6>";
    const FunctionCode whole = code_of(text, {0x1000, 0x1007}, {0x900, 0x90a});
    EXPECT_FALSE(whole.leads_to);
    EXPECT_EQ(places_of(whole), (std::vector<std::uint64_t>{0x1006}));
    EXPECT_EQ(code_of(text, {0x1000, 0x1007}).leads_to, 0x900U);
}

TEST(FunctionCode, SaysWhatItDoesNotUnderstand) {
    EXPECT_EQ(code_of("1000 (bad)").unknown, "(bad)");
    EXPECT_EQ(code_of("1000 jmp    *%eax").unknown, "jmp    *%eax");
    EXPECT_EQ(code_of("1000 .byte 0x6").unknown, ".byte 0x6");
}

}  // namespace
}  // namespace perfleet
