// Starts threads, up to the system's limits.
#pragma once

#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace perfleet {

// Starts up to `count` threads that each call a copy of work(index), index from 0 on; appends them to `threads`. Starts
// fewer, or none, if a limit (ulimit -u, pids.max, ulimit -v) is reached; those that were started keep running.
template <class Work>
void start_threads(std::size_t count, std::vector<std::thread>& threads, const Work& work) {
    threads.reserve(threads.size() + count);
    for (std::size_t i = 0; i < count; ++i) {
        try {
            threads.emplace_back([work, i] { work(i); });
        } catch (const std::system_error&) {
            return;
        }
    }
}

}  // namespace perfleet
