// What libsel4's headers want from outside: functions of a libc beside the compiler's four, and libsel4's own
// variables.
#include <cstddef>

#include "schemas/vocabulary/assert.h"
#include "target-collector/sel4/kernel/libsel4.h"

extern "C" {

LIBSEL4_THREAD_LOCAL seL4_IPCBuffer* __sel4_ipc_buffer;
#ifdef CONFIG_KERNEL_INVOCATION_REPORT_ERROR_IPC
LIBSEL4_THREAD_LOCAL char __sel4_print_error;
#endif

std::size_t strlen(const char* text) {
    std::size_t size = 0;
    while (text[size] != 0) {
        ++size;
    }
    return size;
}

char* strcpy(char* to, const char* from) {
    char* at = to;
    while ((*at++ = *from++) != 0) {
    }
    return to;
}

void __assert_fail(const char* condition, const char* file, int line, const char* /*function*/) {
    perfleet_panic(file, line, condition);
}

}  // extern "C"
