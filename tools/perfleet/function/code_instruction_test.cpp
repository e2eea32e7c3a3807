#include "tools/perfleet/function/code_instruction.h"

#include <elf.h>
#include <gtest/gtest.h>

namespace perfleet {
namespace {

CodeInstruction x86(const std::string& text) { return read_instruction({true, 0x1000, text}, EM_X86_64); }
CodeInstruction arm(const std::string& text) { return read_instruction({true, 0x1000, text}, EM_AARCH64); }

TEST(CodeInstruction, ReturnsOfX86) {
    for (const char* const text : {"ret", "repz ret", "ret    $0x8", "bnd ret", "retq"}) {
        EXPECT_EQ(x86(text).kind, InstructionKind::kReturn) << text;
        EXPECT_EQ(x86(text).branch.is_return, 1U) << text;
    }
    EXPECT_EQ(x86("call   2000 <ret>").kind, InstructionKind::kPlain);
    EXPECT_EQ(x86("ud2").kind, InstructionKind::kStop);
}

TEST(CodeInstruction, ConditionsHaveTheNumbersOfTheirEncoding) {
    const CodeInstruction always = x86("jmp    2000 <g>");
    EXPECT_EQ(always.kind, InstructionKind::kJump);
    EXPECT_EQ(always.target, 0x2000U);
    EXPECT_EQ(always.branch.condition, std::uint32_t{FUNCTION_ALWAYS});
    EXPECT_FALSE(always.goes_on());
    const CodeInstruction less = x86("jl,pn  2000 <g>");
    EXPECT_EQ(less.branch.condition, 12U);
    EXPECT_TRUE(less.goes_on());
    EXPECT_EQ(x86("jo     2000").branch.condition, 0U);
    EXPECT_EQ(x86("jg     2000").branch.condition, 15U);
    EXPECT_EQ(x86("jrcxz  2000").branch.condition, std::uint32_t{FUNCTION_SOMETIMES});
    EXPECT_EQ(x86("loop   2000").branch.condition, std::uint32_t{FUNCTION_SOMETIMES});
}

TEST(CodeInstruction, ComputedJumpsSayWhereTheirTargetIs) {
    const function_branch by_register = x86("notrack jmp *%r11").branch;
    EXPECT_EQ(by_register.is_computed, 1U);
    EXPECT_EQ(by_register.is_loaded, 0U);
    EXPECT_EQ(by_register.base, 11U);
    EXPECT_EQ(by_register.index, std::uint32_t{FUNCTION_NO_REGISTER});
    const function_branch member = x86("jmp    *-0x10(%rax)").branch;
    EXPECT_EQ(member.is_loaded, 1U);
    EXPECT_EQ(member.base, 0U);
    EXPECT_EQ(member.displacement, -0x10);
    const function_branch table = x86("jmp    *0x2000(,%rdx,8)").branch;
    EXPECT_EQ(table.base, std::uint32_t{FUNCTION_NO_REGISTER});
    EXPECT_EQ(table.index, 2U);
    EXPECT_EQ(table.scale, 8U);
    EXPECT_EQ(table.displacement, 0x2000);
    const function_branch pointer = x86("bnd jmp *0x2fe2(%rip)        # 4000 <g@GLIBC_2.2.5>").branch;
    EXPECT_EQ(pointer.base, std::uint32_t{FUNCTION_OWN_ADDRESS});
    EXPECT_EQ(pointer.displacement, 0x3000);
    EXPECT_EQ(x86("jmp    *%fs:0x10").branch.is_computed, 0U);
}

TEST(CodeInstruction, SaysWhereTheKernelPutsNoProbe) {
    for (const char* const text : {"lock incq (%rdi)", "notrack jmp *%rax", "ds mov (%rdi),%eax",
                                   "nopw   %cs:0x0(%rax)", "jne,pn 2000", "data16 jmp 2000", "in     (%dx),%al"}) {
        EXPECT_TRUE(x86(text).is_refused) << text;
    }
    for (const char* const text : {"bnd ret", "repz ret", "mov    %fs:0x28,%rax", "rep stos %al,%es:(%rdi)",
                                   "jne    2000", "data16 lea 0x1(%rip),%rdi", "endbr64", "inc    %eax"}) {
        EXPECT_FALSE(x86(text).is_refused) << text;
    }
}

TEST(CodeInstruction, SaysWhatItDoesNotUnderstand) {
    for (const char* const text : {"(bad)", "jmp    *%eax", ".byte 0x6", "jmp    *0x10(%eax)", "jne    there"}) {
        EXPECT_EQ(x86(text).kind, InstructionKind::kUnknown) << text;
    }
    for (const char* const text : {".inst 0x00000000 ; undefined", "br   w1", "b    there"}) {
        EXPECT_EQ(arm(text).kind, InstructionKind::kUnknown) << text;
    }
}

TEST(CodeInstruction, KnowsWhichTheKernelEmulates) {
    for (const char* const text : {"push   %rbp", "jmp    2000 <g>", "call   2000 <g>", "nop"}) {
        EXPECT_TRUE(x86(text).is_emulated) << text;
    }
    for (const char* const text : {"push   $0x1", "mov    %rsp,%rbp", "ret", "endbr64"}) {
        EXPECT_FALSE(x86(text).is_emulated) << text;
    }
}

TEST(CodeInstruction, OfAarch64) {
    for (const char* const text : {"ret", "retaa", "retab", "ret\tx5"}) {
        EXPECT_EQ(arm(text).kind, InstructionKind::kReturn) << text;
    }
    EXPECT_EQ(arm("b\t400580 <g>").branch.condition, std::uint32_t{FUNCTION_ALWAYS});
    for (const char* const text : {"b.ne\t400580 <g> // b.any", "cbz\tx0, 400580 <g>", "tbnz\tw0, #3, 400580 <g>"}) {
        EXPECT_EQ(arm(text).kind, InstructionKind::kJump) << text;
        EXPECT_EQ(arm(text).target, 0x400580U) << text;
        EXPECT_EQ(arm(text).branch.condition, std::uint32_t{FUNCTION_SOMETIMES}) << text;
    }
    EXPECT_EQ(arm("br\tx16").branch.base, 16U);
    EXPECT_EQ(arm("braa\tx16, x17").kind, InstructionKind::kComputedJump);
    for (const char* const text : {"bl\t400580 <g>", "blr\tx8", "bic\tw0, w1, w2", "bti\tc", "paciasp"}) {
        EXPECT_EQ(arm(text).kind, InstructionKind::kPlain) << text;
    }
}

}  // namespace
}  // namespace perfleet
