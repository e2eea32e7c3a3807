// The processes of the session with their threads, names and mappings, kept true by the kernel's side-band records.
// Ends that no record reports (it was lost; a thread that isn't the first runs another program and takes the first
// one's number) are found by end_missing().
//
// Bounded: beyond kProcessesMax and kThreadsMax newcomers are not remembered (their samples then lie outside any
// mapping, their rows are written all the same).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "target-collector/process/mapping_list.h"

namespace perfleet {

class CodeNames;

struct Process {
    std::uint32_t pid = 0;
    std::uint32_t thread_count = 0;
    std::uint64_t exited_at = 0;                  // 0: it runs
    std::shared_ptr<const MappingList> mappings;  // shared with those that it forked; never null
    std::shared_ptr<CodeNames> code;              // null until code was met that it made at run time (run_time_code.h)
    std::shared_ptr<CodeNames> parent_code;       // the same of whom forked it
    CodeStart code_start;
    std::shared_ptr<const std::string> cgroup;  // its path; shared with those that it forked; null: not known
    std::uint64_t cgroup_id = 0;                // as the kernel's samples name it; 0: they don't
    std::uint64_t cgroup_read_ns = 0;           // 0: to be read (cgroup_watch.h)
    std::uint64_t python_runtime = 0;           // where its _PyRuntime is, as far as is known (python_frames.h)
    bool is_unwound_in_kernel = false;          // its mappings are to be published (bpf/kernel_unwinder.h)
    bool is_missing = false;                    // without threads, and gone when end_missing() looked last
};

struct Thread {
    std::uint32_t pid = 0;
    std::string name;
    bool is_missing = false;  // gone when end_missing() looked last
};

class ProcessTable {
public:
    static constexpr std::size_t kProcessesMax = 65'536;
    static constexpr std::size_t kThreadsMax = 262'144;

    ProcessTable();

    // Null when it isn't known. Valid until the table changes.
    [[nodiscard]] Process* find(std::uint32_t pid);

    // A thread exists and has this name.
    void name_thread(std::uint32_t pid, std::uint32_t tid, std::string_view name);
    // A thread was made; a new process inherits the mappings.
    void fork(std::uint32_t pid, std::uint32_t tid, std::uint32_t parent_pid, std::uint32_t parent_tid);
    // The process runs another program: no mappings any more.
    void exec(std::uint32_t pid, std::uint32_t tid, std::string_view name);
    void exit(std::uint32_t pid, std::uint32_t tid, std::uint64_t time);
    void add_mapping(std::uint32_t pid, const Mapping& mapping);
    void set_mappings(std::uint32_t pid, MappingList mappings, const CodeStart& code_start = {});

    // Threads and processes that `is_gone` says of now and said of at the call before exit now: the records of their
    // ends are long overdue. Their numbers.
    struct Ended {
        std::uint32_t pid = 0;
        std::uint32_t tid = 0;
    };
    std::vector<Ended> end_missing(std::uint64_t time,
                                   const std::function<bool(std::uint32_t pid, std::uint32_t tid)>& is_gone);

    // Forgets processes that exited before `time`: their last samples have come.
    void prune(std::uint64_t time);
    void forget(std::uint32_t pid);

    // Visits (tid, Thread) of all threads, and all processes.
    template <class Visitor>
    void each_thread(Visitor visitor) const {
        for (const auto& [tid, thread] : threads_) {
            visitor(tid, thread);
        }
    }
    template <class Visitor>
    void each_process(Visitor visitor) const {
        for (const auto& [pid, process] : processes_) {
            visitor(static_cast<const Process&>(*process));
        }
    }
    [[nodiscard]] std::size_t process_count() const { return processes_.size(); }
    [[nodiscard]] std::size_t thread_count() const { return threads_.size(); }
    template <class Visitor>
    void each_process(Visitor visitor) {
        for (const auto& [pid, process] : processes_) {
            visitor(*process);
        }
    }

private:
    static constexpr std::size_t kRecentCount = 256;

    Process* find_or_add(std::uint32_t pid);
    Thread* find_or_add_thread(std::uint32_t pid, std::uint32_t tid);
    void remove_thread(std::uint32_t tid);

    std::unordered_map<std::uint32_t, std::unique_ptr<Process>> processes_;
    std::unordered_map<std::uint32_t, Thread> threads_;
    struct Exit {
        std::uint64_t time = 0;
        std::uint32_t pid = 0;
    };
    std::deque<Exit> exits_;
    std::array<Process*, kRecentCount> recent_{};  // by the pid's low bits: spares most samples the map
    std::shared_ptr<const MappingList> no_mappings_;
};

}  // namespace perfleet
