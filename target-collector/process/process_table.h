// The session's processes with their threads, names and mappings, updated from the kernel's side-band records.
// end_missing() finds ends without a record: the record was lost, or a thread other than the first called exec and took
// the first one's number.
//
// Limits: beyond kProcessesMax and kThreadsMax new tasks aren't stored (their rows are still written, but their samples
// then lie outside any mapping).
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
    std::uint64_t exited_at = 0;                  // 0: still running
    std::shared_ptr<const MappingList> mappings;  // shared with forked children; never null
    std::shared_ptr<CodeNames> code;              // null until JIT code was seen (run_time_code.h)
    std::shared_ptr<CodeNames> parent_code;       // `code` of the process that forked it
    CodeStart code_start;
    std::shared_ptr<const std::string> cgroup;  // path; shared with forked children; null: unknown
    std::uint64_t cgroup_id = 0;                // the kernel's id, as in samples; 0: not in samples
    std::uint64_t cgroup_read_ns = 0;           // 0: must be read (cgroup_watch.h)
    std::uint64_t python_runtime = 0;           // address of its _PyRuntime, if known (python_frames.h)
    bool is_unwound_in_kernel = false;          // publish its mappings (bpf/kernel_unwinder.h)
    std::uint8_t unwound_by_files = 0;          // samples, while they aren't published
    bool is_missing = false;                    // had no threads and was gone at the last end_missing()
};

struct Thread {
    std::uint32_t pid = 0;
    std::string name;
    std::string namespaces;   // of imports that have them (TaskOp::kNamespaces)
    bool is_missing = false;  // was gone at the last end_missing()
};

class ProcessTable {
public:
    static constexpr std::size_t kProcessesMax = 65'536;
    static constexpr std::size_t kThreadsMax = 262'144;

    ProcessTable();

    // Null if it is unknown. Valid until the table changes.
    [[nodiscard]] Process* find(std::uint32_t pid);

    // The thread exists and has this name.
    void name_thread(std::uint32_t pid, std::uint32_t tid, std::string_view name);
    // The thread exists and is in these namespaces.
    void set_namespaces(std::uint32_t pid, std::uint32_t tid, std::string_view namespaces);
    // A new thread; if it begins a new process, that inherits the mappings.
    void fork(std::uint32_t pid, std::uint32_t tid, std::uint32_t parent_pid, std::uint32_t parent_tid);
    // The process runs another program: clears its mappings.
    void exec(std::uint32_t pid, std::uint32_t tid, std::string_view name);
    void exit(std::uint32_t pid, std::uint32_t tid, std::uint64_t time);
    void add_mapping(std::uint32_t pid, const Mapping& mapping);
    // Of memory without a file: where it replaces code of the process's own program, as node does to have its text in
    // large pages, it has that code's file. Other mappings come back as they are.
    [[nodiscard]] Mapping as_program_text(std::uint32_t pid, const Mapping& memory);
    void set_mappings(std::uint32_t pid, MappingList mappings, const CodeStart& code_start = {});

    // Ends threads and processes for which `is_gone` is true now and was true at the previous call: records of their
    // ends are overdue. Returns their numbers.
    struct Ended {
        std::uint32_t pid = 0;
        std::uint32_t tid = 0;
    };
    std::vector<Ended> end_missing(std::uint64_t time,
                                   const std::function<bool(std::uint32_t pid, std::uint32_t tid)>& is_gone);

    // Removes processes that exited before `time`: their last samples have arrived.
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
    std::array<Process*, kRecentCount> recent_{};  // by the pid's low bits: saves most lookups in the map
    std::shared_ptr<const MappingList> no_mappings_;
};

}  // namespace perfleet
