// Everything that libsel4 expects of its user: its variables, and a handler of wrong use.
#include "schemas/vocabulary/assert.h"
#include "target-collector/sel4/kernel/libsel4.h"

#ifndef LIBSEL4_THREAD_LOCAL
#define LIBSEL4_THREAD_LOCAL __thread  // libsel4 before 15.0.0
#endif

extern "C" {

LIBSEL4_THREAD_LOCAL seL4_IPCBuffer* __sel4_ipc_buffer;
#ifdef CONFIG_KERNEL_INVOCATION_REPORT_ERROR_IPC
LIBSEL4_THREAD_LOCAL char __sel4_print_error;
#endif

void __assert_fail(const char* condition, const char* file, int line, const char* /*function*/) {
    perfleet_panic(file, line, condition);
}

}  // extern "C"
