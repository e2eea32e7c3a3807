// The same probes in C++: threads of the standard library, ids of an enumeration, a start under a condition.
#include <perfleet/probe.h>

#include <thread>
#include <vector>

namespace {

enum Probe : unsigned { kEach, kEven };
PERFLEET_TRACE_NAME(kEach, "each");
PERFLEET_TRACE_NAME(kEven, "even");

}  // namespace

int main() {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([] {
            for (int i = 0; i < 100; ++i) {
                PERFLEET_TRACE_START(kEach);
                if (i % 2 == 0) {
                    PERFLEET_TRACE_START(kEven);
                }
                PERFLEET_TRACE_STOP(kEven);
                PERFLEET_TRACE_STOP(kEach);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}
