// The calls of a stock kernel, by a libsel4 that answers as the kernel does: it writes nothing where a capability is no
// thread's any more.
#include "target-collector/sel4/kernel/stock_kernel.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>

#include "schemas/sel4/kernel_log.h"
#include "target-collector/source/sel4/log_buffer.h"

namespace {

seL4_IPCBuffer buffer;
std::map<seL4_CPtr, seL4_Word> cycles_of_thread;  // of those that are there
int asked_of_none = 0;                            // calls with the null capability

}  // namespace

extern "C" {
seL4_IPCBuffer* seL4_GetIPCBuffer() { return &buffer; }
int seL4_BenchmarkResetLog() { return seL4_NoError; }
seL4_Word seL4_BenchmarkFinalizeLog() { return 0; }
void seL4_BenchmarkResetThreadUtilisation(seL4_Word tcb) { asked_of_none += tcb == seL4_CapNull ? 1 : 0; }
void seL4_BenchmarkGetThreadUtilisation(seL4_Word tcb) {
    asked_of_none += tcb == seL4_CapNull ? 1 : 0;
    if (const auto thread = cycles_of_thread.find(tcb); thread != cycles_of_thread.end()) {
        buffer.msg[0] = thread->second;
        buffer.msg[9] = 1'000;
    }
}
int seL4_TCB_ReadRegisters(seL4_CPtr tcb, seL4_Bool /*suspends*/, std::uint8_t /*flags*/, seL4_Word /*count*/,
                           seL4_UserContext* into) {
    *into = {};
    return cycles_of_thread.contains(tcb) ? seL4_NoError : seL4_InvalidCapability;
}
}  // extern "C"

namespace perfleet::sel4::stock_kernel_test {
namespace {

TEST(StockKernel, ADeletedThreadHasNoneOfTheFiguresOfTheThreadBefore) {
    constexpr StockKernel::ThreadCaps kCaps[] = {{.tcb = 7}, {.tcb = 8}};
    StockKernel kernel{{}, kCaps, {}, 1'000'000};
    const auto cycles = [&](std::uint32_t number) {
        const auto read = read_utilisation(kernel.utilisation(ThreadNumber{number}));
        return read.ok() ? std::optional{read->thread.cycles} : std::nullopt;
    };
    cycles_of_thread = {{7, 300}, {8, 200}};
    EXPECT_EQ(cycles(1), 300U);
    EXPECT_EQ(cycles(2), 200U);
    cycles_of_thread.erase(8);
    EXPECT_EQ(cycles(1), 300U);
    EXPECT_TRUE(kernel.utilisation(ThreadNumber{2}).empty()) << "what the buffer holds is the first one's";
    ThreadRegisters registers;
    EXPECT_FALSE(kernel.read_registers(ThreadNumber{2}, registers));
    // Another thread gets the capability.
    cycles_of_thread[8] = 10;
    EXPECT_EQ(cycles(2), 10U);
    EXPECT_TRUE(kernel.read_registers(ThreadNumber{2}, registers));
}

// A kernel with printing would warn each time, on the line that carries telemetry.
TEST(StockKernel, ItIsAskedNothingOfANumberThatNobodyHas) {
    constexpr StockKernel::ThreadCaps kCaps[] = {{.tcb = 7}, {}};
    StockKernel kernel{{}, kCaps, {}, 1'000'000};
    cycles_of_thread = {{7, 300}};
    asked_of_none = 0;
    kernel.reset_utilisation(ThreadNumber{2});
    EXPECT_TRUE(kernel.utilisation(ThreadNumber{2}).empty());
    EXPECT_EQ(asked_of_none, 0);
    kernel.reset_utilisation(ThreadNumber{1});
    EXPECT_FALSE(kernel.utilisation(ThreadNumber{1}).empty());
}

}  // namespace
}  // namespace perfleet::sel4::stock_kernel_test
