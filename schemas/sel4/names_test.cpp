#include "schemas/sel4/names.h"

#include <gtest/gtest.h>

namespace perfleet::sel4 {
namespace {

TEST(KernelLogNames, SyscallsCountDownFromMinusOne) {
    EXPECT_EQ(syscall_name(1, false), "Call");
    EXPECT_EQ(syscall_name(3, false), "Send");
    EXPECT_EQ(syscall_name(8, false), "NBRecv");
    EXPECT_EQ(syscall_name(9, false), "");
    EXPECT_EQ(syscall_name(0, false), "");
    EXPECT_EQ(syscall_name(3, true), "NBSendRecv");
    EXPECT_EQ(syscall_name(11, true), "Yield");
    EXPECT_EQ(syscall_name(15, true), "");
}

TEST(KernelLogNames, CapabilityTypesAreThoseOfTheArchitecture) {
    for (const Architecture architecture : {Architecture::kAarch64, Architecture::kX86_64, Architecture::kRiscv64,
                                            Architecture::kAarch32, Architecture::kIa32, Architecture::kRiscv32}) {
        EXPECT_EQ(cap_type_name(0, architecture), "null");
        EXPECT_EQ(cap_type_name(4, architecture), "endpoint");
        EXPECT_EQ(cap_type_name(12, architecture), "thread");
    }
    EXPECT_EQ(cap_type_name(16, Architecture::kAarch64), "irq_handler");
    EXPECT_EQ(cap_type_name(15, Architecture::kAarch64), "vcpu");
    EXPECT_EQ(cap_type_name(15, Architecture::kX86_64), "io_space");
    EXPECT_EQ(cap_type_name(3, Architecture::kAarch32), "frame");
    EXPECT_EQ(cap_type_name(29, Architecture::kRiscv64), "");
}

TEST(KernelLogNames, WhatFiveBitsCannotTellApartSharesAName) {
    // 0x1e, 0x3e and 0x5e in the kernel.
    EXPECT_EQ(cap_type_name(0x1e, Architecture::kAarch32), "irq_handler/domain/sched_control");
    EXPECT_EQ(cap_type_name(0x0e, Architecture::kIa32), "irq_control/zombie/sched_context");
}

TEST(KernelLogNames, ArchitecturesAreKnownByBothTheirNames) {
    EXPECT_EQ(architecture_of("aarch64"), Architecture::kAarch64);
    EXPECT_EQ(architecture_of("i686"), Architecture::kIa32);
    EXPECT_FALSE(architecture_of("sparc"));
    EXPECT_EQ(entry_layout_of(Architecture::kIa32), EntryLayout::kIa32);
    EXPECT_EQ(entry_layout_of(Architecture::kAarch32), EntryLayout::k24Bytes);
}

}  // namespace
}  // namespace perfleet::sel4
