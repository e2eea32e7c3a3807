// Runs tasks on several threads and hands their products to the caller's thread in the order of the tasks, so that
// results don't depend on the number of threads.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "query-engine/scan/start_threads.h"

namespace perfleet {

// make(i) gives the product of task i, on any thread. take(product) is called on the caller's thread for task 0, 1, …;
// it returns false to stop. At most `worker_count` products are made ahead of the one that is taken next, none while
// is_tight() is true. With one worker everything runs on the caller's thread. If the system starts fewer threads than
// asked for, those do all the work.
template <class Make, class Take, class IsTight>
void do_in_order(std::size_t task_count, unsigned worker_count, const Make& make, const Take& take,
                 const IsTight& is_tight) {
    using Product = decltype(make(std::size_t{0}));
    const auto do_alone = [&] {
        for (std::size_t i = 0; i < task_count && take(make(i)); ++i) {
        }
    };
    if (worker_count <= 1 || task_count <= 1) {
        do_alone();
        return;
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::size_t, Product> made;
    std::size_t next = 0;   // next task to make
    std::size_t taken = 0;  // tasks taken
    bool is_stopped = false;

    const auto work = [&](std::size_t) {
        std::unique_lock lock{mutex};
        while (true) {
            changed.wait(lock, [&] {
                return is_stopped || next == task_count || next == taken ||
                       (next <= taken + worker_count && !is_tight());
            });
            if (is_stopped || next == task_count) {
                return;
            }
            const std::size_t task = next++;
            lock.unlock();
            Product product = make(task);
            lock.lock();
            made.emplace(task, std::move(product));
            changed.notify_all();
        }
    };
    std::vector<std::thread> workers;
    start_threads(std::min<std::size_t>(worker_count, task_count), workers, work);
    if (workers.empty()) {
        do_alone();
        return;
    }
    std::unique_lock lock{mutex};
    while (taken < task_count && !is_stopped) {
        changed.wait(lock, [&] { return made.contains(taken); });
        auto product = made.extract(taken);
        lock.unlock();
        const bool goes_on = take(std::move(product.mapped()));
        product = {};  // free its memory before another task begins
        lock.lock();
        ++taken;
        is_stopped = !goes_on;
        changed.notify_all();
    }
    lock.unlock();
    for (std::thread& worker : workers) {
        worker.join();
    }
}

}  // namespace perfleet
