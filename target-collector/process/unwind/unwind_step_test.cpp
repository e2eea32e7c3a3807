#include "target-collector/process/unwind/unwind_step.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace perfleet {
namespace unwind_step_test {

constexpr std::uint64_t kStackAddress = 0x7fff'0000;
constexpr UnwindRule kPushed{CfaBase::kStackPointer, SavedAt::kCfa, SavedAt::kCfa, false, 24, 0, -8, -16};

struct Stack {
    std::vector<std::uint64_t> words;
    bool is_cut = false;
    [[nodiscard]] StackCopy copy() const { return {kStackAddress, std::as_bytes(std::span{words}), is_cut}; }
};

TEST(UnwindStep, TakesReturnAddressAndFramePointerFromTheirPlaces) {
    const Stack stack{{1, 0x1234, 0x400100, 4}};
    UnwindRegisters registers{0x400000, kStackAddress, 0x99, 0};
    ASSERT_FALSE(unwind_step(UnwindMachine::kX86_64, kPushed, stack.copy(), registers));
    EXPECT_EQ(registers.pc, 0x400100U);
    EXPECT_EQ(registers.sp, kStackAddress + 24);
    EXPECT_EQ(registers.fp, 0x1234U);
}

TEST(UnwindStep, OfAPltStubDependsOnThePlaceInIt) {
    const Stack stack{{0x111, 0x222}};
    const UnwindRule stub{CfaBase::kProcedureStub, SavedAt::kCfa, SavedAt::kSame, false, 11, 0, -8, 0};
    UnwindRegisters before{0x40100a, kStackAddress, 0, 0};
    ASSERT_FALSE(unwind_step(UnwindMachine::kX86_64, stub, stack.copy(), before));
    EXPECT_EQ(before.pc, 0x111U);
    UnwindRegisters after{0x40100b, kStackAddress, 0, 0};
    ASSERT_FALSE(unwind_step(UnwindMachine::kX86_64, stub, stack.copy(), after));
    EXPECT_EQ(after.pc, 0x222U);
}

TEST(UnwindStep, OfASignalFrameMayLeadToAnotherStack) {
    // x86-64: CFA = *(rsp + 8), rip = *(rsp + 16), rbp = *(rsp + 0).
    const Stack stack{{0x77, kStackAddress - 4096, 0x400200}};
    const UnwindRule signal{CfaBase::kAtStack, SavedAt::kStack, SavedAt::kStack, true, 8, 0, 16, 0};
    UnwindRegisters registers{0x1, kStackAddress, 0, 0};
    ASSERT_FALSE(unwind_step(UnwindMachine::kX86_64, signal, stack.copy(), registers));
    EXPECT_EQ(registers.sp, kStackAddress - 4096);
    EXPECT_EQ(registers.pc, 0x400200U);
    EXPECT_EQ(registers.fp, 0x77U);
}

TEST(UnwindStep, FollowsRbxToAFrameThatIsFoundByIt) {
    // The callee has pushed rbx; its caller is found from there, as _dl_runtime_resolve is.
    const Stack stack{{kStackAddress + 32, 0x400100, 0, 0x7, 0x8, 0x9, 0x400300}};
    UnwindRule callee{CfaBase::kStackPointer, SavedAt::kCfa, SavedAt::kSame, false, 16, 0, -8, 0};
    callee.rbx = SavedAt::kCfa;
    callee.rbx_offset = -16;
    const UnwindRule resolver{CfaBase::kRbx, SavedAt::kCfa, SavedAt::kSame, false, 24, 0, -8, 0};
    UnwindRegisters registers{.pc = 0x400000, .sp = kStackAddress, .rbx = 1};
    ASSERT_FALSE(unwind_step(UnwindMachine::kX86_64, callee, stack.copy(), registers));
    EXPECT_EQ(registers.rbx, kStackAddress + 32);
    ASSERT_FALSE(unwind_step(UnwindMachine::kX86_64, resolver, stack.copy(), registers));
    EXPECT_EQ(registers.pc, 0x400300U);
    EXPECT_EQ(registers.sp, kStackAddress + 56);
    registers.rbx.reset();
    EXPECT_EQ(unwind_step(UnwindMachine::kX86_64, resolver, stack.copy(), registers), UnwindEnd::kBadAddress);
}

TEST(UnwindStep, SaysWhyThereIsNoCaller) {
    const Stack stack{{1, 2}};
    const UnwindRegisters leaf{0x400000, kStackAddress, 0x99, 0};
    const auto end_of = [&](const UnwindRule& rule, bool is_cut) {
        UnwindRegisters registers = leaf;
        const StackCopy copy{kStackAddress, std::as_bytes(std::span{stack.words}), is_cut};
        const auto end = unwind_step(UnwindMachine::kX86_64, rule, copy, registers);
        EXPECT_EQ(registers.sp, leaf.sp) << "unchanged";
        return end;
    };
    EXPECT_EQ(end_of({}, true), UnwindEnd::kNoTable);
    EXPECT_EQ(end_of({.cfa_base = CfaBase::kOutermost}, true), UnwindEnd::kOutermost);
    EXPECT_EQ(end_of(kPushed, true), UnwindEnd::kStackNotCopied);
    EXPECT_EQ(end_of(kPushed, false), UnwindEnd::kBadAddress);
    const UnwindRule standstill{CfaBase::kStackPointer, SavedAt::kCfa, SavedAt::kSame, false, 0, 0, 8, 0};
    EXPECT_EQ(end_of(standstill, false), UnwindEnd::kBadAddress);
}

TEST(UnwindStep, OnAarch64TakesTheLinkRegisterOfALeafAndRemovesSignatures) {
    const Stack stack{{0x1000, 0x00ab'0000'0040'0300}};
    const UnwindRule leaf{CfaBase::kStackPointer, SavedAt::kSame, SavedAt::kSame, false, 0, 0, 0, 0};
    UnwindRegisters registers{0x400000, kStackAddress, kStackAddress, 0x00cd'0000'0040'0200};
    ASSERT_FALSE(unwind_step(UnwindMachine::kAarch64, leaf, stack.copy(), registers));
    EXPECT_EQ(registers.pc, 0x400200U);
    EXPECT_EQ(registers.sp, kStackAddress);
    const UnwindRule pushed{CfaBase::kStackPointer, SavedAt::kCfa, SavedAt::kCfa, false, 16, 0, -8, -16};
    ASSERT_FALSE(unwind_step(UnwindMachine::kAarch64, pushed, stack.copy(), registers));
    EXPECT_EQ(registers.pc, 0x400300U);
    EXPECT_EQ(registers.fp, 0x1000U);
}

TEST(UnwindStep, FollowsAFrameRecordOnTheStackOnly) {
    const Stack stack{{1, kStackAddress + 40, 0x400100, 4}};
    UnwindRegisters registers{0x400000, kStackAddress, kStackAddress + 8, 0};
    ASSERT_FALSE(unwind_step_by_frame_pointer(UnwindMachine::kX86_64, stack.copy(), registers));
    EXPECT_EQ(registers.pc, 0x400100U);
    EXPECT_EQ(registers.sp, kStackAddress + 24);
    EXPECT_EQ(registers.fp, kStackAddress + 40);
    EXPECT_EQ(unwind_step_by_frame_pointer(UnwindMachine::kX86_64, stack.copy(), registers), UnwindEnd::kBadAddress);
    registers.fp = kStackAddress - 64;
    EXPECT_EQ(unwind_step_by_frame_pointer(UnwindMachine::kX86_64, stack.copy(), registers), UnwindEnd::kBadAddress);
}

TEST(UnwindStep, FollowsFrameRecordsOfFourByteWords) {
    const Stack stack{{1, (kStackAddress + 20) | std::uint64_t{0x400100} << 32U, 0, 0x400200}};
    StackCopy copy = stack.copy();
    copy.word_bytes = StackCopy::kWordBytes32;
    UnwindRegisters registers{0x400000, kStackAddress, kStackAddress + 8, 0};
    ASSERT_FALSE(unwind_step_by_frame_pointer(UnwindMachine::kX86_64, copy, registers));
    EXPECT_EQ(registers.pc, 0x400100U);
    EXPECT_EQ(registers.sp, kStackAddress + 16);
    EXPECT_EQ(registers.fp, kStackAddress + 20);
    ASSERT_FALSE(unwind_step_by_frame_pointer(UnwindMachine::kX86_64, copy, registers));
    EXPECT_EQ(registers.pc, 0x400200U);
    EXPECT_EQ(unwind_step_by_frame_pointer(UnwindMachine::kX86_64, copy, registers), UnwindEnd::kOutermost);
}

TEST(UnwindStep, AFramePointerOf0EndsAChainOfThem) {
    const Stack stack{{1, 0, 0x400100, 4}};
    UnwindRegisters registers{0x400000, kStackAddress, kStackAddress + 8, 0};
    ASSERT_FALSE(unwind_step_by_frame_pointer(UnwindMachine::kX86_64, stack.copy(), registers));
    EXPECT_EQ(registers.pc, 0x400100U);
    EXPECT_EQ(unwind_step_by_frame_pointer(UnwindMachine::kX86_64, stack.copy(), registers), UnwindEnd::kOutermost);
    // Of a function without a frame pointer it says nothing.
    UnwindRegisters leaf{0x400000, kStackAddress, 0, 0};
    EXPECT_EQ(unwind_step_by_frame_pointer(UnwindMachine::kX86_64, stack.copy(), leaf), UnwindEnd::kBadAddress);
}

}  // namespace unwind_step_test
}  // namespace perfleet
