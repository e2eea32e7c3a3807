#include "tools/perfleet/function/function_code.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <sstream>

namespace perfleet {
namespace {

// "401000 push   %rbp", as objdump prints it behind the colon.
FunctionCode code_of(const std::string& text, const std::vector<CodeRange>& parts = {{0x1000, 0x1100}},
                     bool has_hidden_ways = false, std::uint16_t machine = EM_X86_64) {
    std::vector<DisassembledLine> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) {
        if (const std::size_t gap = line.find_first_not_of(' '); gap != std::string::npos) {
            std::size_t used = 0;
            const std::uint64_t address = std::stoull(line.substr(gap), &used, 16);
            lines.push_back({true, address, line.substr(gap + used + 1)});
        }
    }
    return read_function_code(lines, parts, machine, has_hidden_ways);
}

std::vector<std::uint64_t> places_of(const std::vector<CodeBranch>& branches) {
    std::vector<std::uint64_t> places;
    for (const CodeBranch& one : branches) {
        places.push_back(one.address);
    }
    return places;
}

using Places = std::vector<std::uint64_t>;

TEST(FunctionCode, EndsAtEachReturn) {
    const FunctionCode code = code_of(R"(
        1000 push   %rbp
        1001 je     1005 <f+0x5>
        1003 pop    %rbp
        1004 ret
        1005 call   2000 <g>
        100a js     100f <f+0xf>
        100c ret    $0x8
        100f bnd ret
    )");
    EXPECT_EQ(places_of(code.exits), (Places{0x1004, 0x100c, 0x100f}));
    EXPECT_EQ(code.unknown, "");
    EXPECT_TRUE(code.leads_to.empty());
    EXPECT_TRUE(code.again.empty());
}

TEST(FunctionCode, EndsAtJumpsToOtherFunctions) {
    const FunctionCode code = code_of(R"(
        1000 jne    1009 <f+0x9>
        1002 je     3000 <h>
        1004 jmp    2000 <g>
        1009 jmp    *0x10(%rax)
    )");
    EXPECT_EQ(places_of(code.exits), (Places{0x1002, 0x1004, 0x1009}));
    EXPECT_EQ(code.exits[0].branch.condition, 4U);
    EXPECT_EQ(code.leads_to, (std::map<std::uint64_t, std::uint64_t>{{0x1002, 0x3000}, {0x1004, 0x2000}}));
    for (const CodeBranch& exit : code.exits) {
        EXPECT_EQ(exit.branch.is_return, 0U);
    }
}

TEST(FunctionCode, KnowsALoopToItsFirstInstruction) {
    EXPECT_EQ(places_of(code_of("1000 dec    %rdi\n1003 jne    1000 <f>\n1005 ret").again), (Places{0x1003}));
    EXPECT_EQ(places_of(code_of("1000 jne    1005 <f>\n1003 jmp    1000 <f>\n1005 ret").again), (Places{0x1003}));
    EXPECT_TRUE(code_of("1000 dec    %rdi\n1003 jne    1000 <f>\n1005 ret", {{0xff0, 0x1100}}).again.empty());
}

TEST(FunctionCode, HasAColdPart) {
    const std::string text = "1000 jne    900 <f.cold>\n1006 ret\n900 call   2000 <g>\n905 jmp    1006 <f+0x6>";
    const FunctionCode whole = code_of(text, {{0x1000, 0x1007}, {0x900, 0x90a}});
    EXPECT_TRUE(whole.leads_to.empty());
    EXPECT_EQ(places_of(whole.exits), (Places{0x1006}));
    EXPECT_EQ(code_of(text, {{0x1000, 0x1007}}).leads_to.at(0x1000), 0x900U);
}

// A probe there would change what the function reads.
TEST(FunctionCode, DataBehindAFunctionsCodeIsNoReturn) {
    const std::string text = "1000 jmp    1004\n1002 ret\n1003 (bad)\n1004 ret";
    EXPECT_EQ(places_of(code_of(text).exits), (Places{0x1004}));
    EXPECT_EQ(code_of(text).unknown, "");
    // Handlers of exceptions, and cases of a switch, are reached otherwise.
    const std::string handler = "1000 jmp    1004\n1002 ret\n1004 ret";
    EXPECT_EQ(places_of(code_of(handler, {{0x1000, 0x1100}}, true).exits), (Places{0x1002, 0x1004}));
    EXPECT_EQ(places_of(code_of("1000 jmp    *%rax\n1002 ret\n1003 ret").exits), (Places{0x1000, 0x1002, 0x1003}));
}

// The table of a switch whose numbers look like returns.
TEST(FunctionCode, DataThatASwitchReadsIsNotTakenForCode) {
    const std::string jump = "1000 lea    0x9(%rip),%rdx        # 1010 <f+0x10>\n1007 jmp    *%rax\n";
    EXPECT_EQ(code_of(jump + "1010 ret\n1011 ret").unknown, "0x1000 refers to 0x1010, where data may stand");
    EXPECT_EQ(code_of("1000 lea    0x9(%rip),%rdx        # 4010 <g>\n1007 jmp    *%rax\n1010 ret").unknown, "");
    EXPECT_EQ(code_of("1000 lea    0x9(%rip),%rdx        # 1007 <f+0x7>\n1007 jmp    *%rax\n1010 ret").unknown, "");
}

TEST(FunctionCode, NeedsProbesWhereItBeginsAndEndsAlone) {
    EXPECT_EQ(code_of("1000 lock incl (%rdi)\n1003 ret").unknown, "the kernel puts no probe at 'lock incl (%rdi)'");
    EXPECT_EQ(code_of("1000 nop\n1001 jne,pn 2000 <g>\n1003 ret").unknown,
              "the kernel puts no probe at 'jne,pn 2000 <g>'");
    EXPECT_EQ(code_of("1000 nop\n1001 lock incl (%rdi)\n1004 ret").unknown, "");
    // The switch of a program that is built for branch tracking.
    const FunctionCode code = code_of("1000 nop\n1001 notrack jmp *%rax\n1004 ret\n1005 ret");
    EXPECT_EQ(places_of(code.exits), (Places{0x1004, 0x1005}));
    EXPECT_EQ(code.unknown, "");
}

TEST(FunctionCode, SaysWhatItDoesNotUnderstand) {
    EXPECT_EQ(code_of("1000 (bad)").unknown, "'(bad)' wasn't understood");
    EXPECT_EQ(code_of("1000 jne    1003\n1002 mov    $0x1,%eax\n1007 ret").unknown,
              "0x1000 jumps into the middle of an instruction");
    // Behind a prefix, as the C library does where one thread runs alone.
    EXPECT_EQ(code_of("1000 je     1003\n1002 lock cmpxchg %edx,(%rdi)\n1007 ret").unknown, "");
}

TEST(FunctionCode, OfAarch64) {
    const FunctionCode code = code_of(R"(
        1000 cbz	w0, 100c <f+0xc>
        1004 autiasp
        1008 b	2000 <g>
        100c retaa
        1010 .inst	0x00000000 ; undefined
    )",
                                      {{0x1000, 0x1100}}, false, EM_AARCH64);
    EXPECT_EQ(places_of(code.exits), (Places{0x1008, 0x100c}));
    EXPECT_EQ(code.unknown, "");
}

}  // namespace
}  // namespace perfleet
