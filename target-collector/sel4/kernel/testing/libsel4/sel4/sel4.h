// The parts of libsel4 that the stock kernel's calls need, for tests on a host: a kernel that tracks utilisation, whose
// answers the test sets. Names are libsel4's own.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CONFIG_BENCHMARK_TRACK_UTILISATION 1
#define CONFIG_ENABLE_BENCHMARKS 1
#define CONFIG_EXPORT_PCNT_USER 1
#define CONFIG_EXPORT_PTMR_USER 1
#define CONFIG_IRQ_IOAPIC 1
#define CONFIG_MAX_NUM_NODES 1
#define CONFIG_MAX_NUM_TRACE_POINTS 0
#define CONFIG_SYSCALL 1

typedef uint64_t seL4_Word;
typedef seL4_Word seL4_CPtr;
typedef int8_t seL4_Bool;
enum { seL4_CapNull = 0, seL4_CapInitThreadTCB = 1 };
typedef int seL4_Error;
enum { seL4_NoError = 0, seL4_InvalidCapability = 2, seL4_DeleteFirst = 8 };
enum { seL4_WordBits = 64, seL4_PageBits = 12 };
enum { seL4_X86_4K = 1, seL4_X86_LargePageObject = 2, seL4_X86_Default_VMAttributes = 0, seL4_X86_CacheDisabled = 1 };
typedef int seL4_CapRights_t;
typedef int seL4_X86_VMAttributes;
enum { seL4_CanRead = 1 };
typedef struct {
    int error;
    seL4_Word paddr;
} seL4_X86_Page_GetAddress_t;

typedef struct {
    seL4_Word rip, rsp, rflags, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8;
    seL4_Word pc, sp, spsr, x0, x29, x30, x9;
} seL4_UserContext;

typedef struct {
    seL4_Word msg[120];
} seL4_IPCBuffer;

// Defined by the test.
seL4_IPCBuffer* seL4_GetIPCBuffer(void);
int seL4_BenchmarkResetLog(void);
seL4_Word seL4_BenchmarkFinalizeLog(void);
void seL4_BenchmarkResetThreadUtilisation(seL4_Word tcb);
void seL4_BenchmarkGetThreadUtilisation(seL4_Word tcb);
int seL4_TCB_ReadRegisters(seL4_CPtr tcb, seL4_Bool suspends, uint8_t flags, seL4_Word count, seL4_UserContext* into);
int seL4_CNode_Copy(seL4_CPtr to_root, seL4_CPtr to, uint8_t to_depth, seL4_CPtr root, seL4_CPtr from, uint8_t depth,
                    seL4_CapRights_t rights);
int seL4_CNode_Delete(seL4_CPtr root, seL4_CPtr slot, uint8_t depth);
int seL4_X86_Page_Map(seL4_CPtr frame, seL4_CPtr vspace, seL4_Word address, seL4_CapRights_t rights,
                      seL4_X86_VMAttributes attributes);
int seL4_X86_Page_Unmap(seL4_CPtr frame);
seL4_X86_Page_GetAddress_t seL4_X86_Page_GetAddress(seL4_CPtr frame);
