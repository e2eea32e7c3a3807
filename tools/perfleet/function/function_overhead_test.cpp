#include "tools/perfleet/function/function_overhead.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace perfleet {
namespace {

TEST(FunctionOverhead, APairCostsTimeOfItsOwnAndMoreToWhatIsAroundIt) {
    if (::geteuid() != 0 || ::access("/sys/bus/event_source/devices/uprobe/type", F_OK) != 0) {
        GTEST_SKIP() << "needs root and uprobes";
    }
    for (const bool is_stepped_over : {false, true}) {
        for (const bool has_exits : {false, true}) {
            const auto overhead = measure_function_overhead({is_stepped_over, has_exits});
#if defined(__x86_64__)
            ASSERT_TRUE(overhead);
            // An empty call of a few instructions: all of it is of the probes.
            EXPECT_GT(overhead->effective_ns, 0);
            EXPECT_GT(overhead->total_ns, 0);
#else
            EXPECT_FALSE(overhead);
#endif
        }
    }
}

}  // namespace
}  // namespace perfleet
