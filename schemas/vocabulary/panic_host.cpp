// The platform hook `perfleet_panic` for hosts.
#include <cstdio>
#include <cstdlib>

#include "schemas/vocabulary/assert.h"

extern "C" [[noreturn]] void perfleet_panic(const char* file, int line, const char* condition) {
    std::fprintf(stderr, "perfleet: bug at %s:%d: %s does not hold\n", file, line, condition);
    std::abort();
}
