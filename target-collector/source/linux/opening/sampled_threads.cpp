#include "target-collector/source/linux/opening/sampled_threads.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "target-collector/process/proc_reader.h"

namespace perfleet {

Result<SampledThreads> SampledThreads::find(const EventSetOptions& options) {
    SampledThreads found;
    if (options.all_cpus) {
        found.threads.push_back({-1, true, true});
        return found;
    }
    if (!options.tids.empty()) {
        PERFLEET_TRY(found.add_threads(options.tids));
        return found;
    }
    if (options.uid) {
        for (const std::uint32_t pid : proc_pids()) {
            if (proc_uid(pid) == *options.uid) {
                found.add_optional(pid);
            }
        }
        if (found.threads.empty()) {
            return Error{ErrorCode::kNotFound,
                         "--uid " + std::to_string(*options.uid) + ": no process of this user runs"};
        }
        return found;
    }
    for (const std::uint32_t pid : options.pids) {
        const std::vector<ProcThread> threads = proc_threads(pid);
        if (threads.empty()) {
            return Error{ErrorCode::kNotFound, "-p " + std::to_string(pid) + ": there is no process with this id"};
        }
        found.pids.push_back(pid);
        for (const ProcThread& thread : threads) {
            found.threads.push_back({static_cast<std::int32_t>(thread.tid), thread.tid == pid, true});
        }
    }
    if (options.with_descendants) {
        for (const std::uint32_t pid : proc_with_descendants(options.pids)) {
            if (std::find(options.pids.begin(), options.pids.end(), pid) == options.pids.end()) {
                found.add_optional(pid);
            }
        }
    }
    return found;
}

// Of other threads in the same processes only mappings and names are needed: they are shared.
Result<Done> SampledThreads::add_threads(std::span<const std::uint32_t> tids) {
    for (const std::uint32_t tid : tids) {
        const auto pid = proc_pid_of_thread(tid);
        if (!pid) {
            return Error{ErrorCode::kNotFound, "-t " + std::to_string(tid) + ": there is no thread with this id"};
        }
        if (std::find(pids.begin(), pids.end(), *pid) != pids.end()) {
            continue;
        }
        pids.push_back(*pid);
        for (const ProcThread& thread : proc_threads(*pid)) {
            const bool is_meant = std::find(tids.begin(), tids.end(), thread.tid) != tids.end();
            threads.push_back({static_cast<std::int32_t>(thread.tid), is_meant, is_meant});
        }
    }
    return Done{};
}

void SampledThreads::add_optional(std::uint32_t pid) {
    const std::vector<ProcThread> own = proc_threads(pid);
    if (own.empty() || pid == static_cast<std::uint32_t>(::getpid())) {
        return;
    }
    pids.push_back(pid);
    for (const ProcThread& thread : own) {
        threads.push_back({static_cast<std::int32_t>(thread.tid), false, true});
    }
}

}  // namespace perfleet
