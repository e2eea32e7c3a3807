// What is recorded of threads, processes and their mappings, and how much of it perf knows from the records written so
// far.
//
// Most tasks of a recording have no samples in a selection. A task's records are written before its first sample, a
// mapping before the first frame in it; what no sample needs isn't written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exporters/rows/address_space.h"

namespace perfleet {

// Processes that have ended stay known for a while: their last samples can come after their end.
inline constexpr std::size_t kEndedTasksMax = 4'096;

class TaskState {
public:
    // -- what is recorded

    void set_name(std::uint32_t pid, std::uint32_t tid, std::string_view name);
    void exec(std::uint32_t pid, std::uint32_t tid, std::string_view name);
    void fork(std::uint32_t parent_pid, std::uint32_t parent_tid, std::uint32_t pid, std::uint32_t tid);
    void exit(std::uint32_t pid, std::uint32_t tid);
    void map(std::uint32_t pid, const ExportedMapping& mapping);

    // As perf shows it: ":tid" where no name is known. Valid until the state changes.
    [[nodiscard]] std::string_view name_of(std::uint32_t pid, std::uint32_t tid);

    // Another start of the machine, or so long ago that nothing is as it was.
    void forget();

    // -- what perf needs before a sample

    // Records of a thread, in this order. Empty when perf knows the thread by its name.
    struct ThreadRecords {
        struct Parent {
            std::uint32_t pid = 0;
            std::uint32_t tid = 0;
        };
        std::optional<Parent> fork;
        std::optional<std::string_view> name;  // valid until the state changes
        bool is_exec = false;
    };
    // Those are to be written now: perf is taken to know them from here on. A process's first thread comes before its
    // others: perf keeps the mappings with it.
    [[nodiscard]] ThreadRecords take_thread_records(std::uint32_t pid, std::uint32_t tid);
    [[nodiscard]] bool is_known(std::uint32_t tid) const {
        const auto found = threads_.find(tid);
        return found != threads_.end() && found->second.is_known;
    }

    // Where a frame lies, and the mapping that has to be written for perf to see it there: nullptr when perf does. From
    // here on it is taken to. Valid until the state changes.
    struct Place {
        std::uint64_t address = 0;
        const ExportedMapping* unwritten = nullptr;
    };
    // Of an image whose mapping isn't known: as AddressSpace::place. None when there are no more addresses for it.
    [[nodiscard]] std::optional<Place> place(std::uint32_t pid, ExportedImage image, std::uint64_t offset);
    // Of a frame that is known by its address.
    [[nodiscard]] Place place(std::uint32_t pid, std::uint64_t address);

    // All mappings of a process that have to be written for perf to see them; from here on it is taken to. For
    // addresses that no frame names.
    [[nodiscard]] std::vector<ExportedMapping> take_unwritten_mappings(std::uint32_t pid);

    // perf has been told of a mapping of data there, which ended those of code that it knew.
    void replace_by_data(std::uint32_t pid, std::uint64_t start, std::uint64_t size_bytes);

    // Of memory, about.
    [[nodiscard]] std::size_t size_bytes() const;

private:
    struct Thread {
        std::uint32_t pid = 0;
        std::optional<ThreadRecords::Parent> parent;
        std::string name;
        bool is_known = false;       // to perf
        bool is_name_known = false;  // likewise
        bool has_execed = false;     // since its name was written
        std::uint64_t fork = 0;      // of its process, that perf knew it in
        std::uint64_t ended = 0;     // number of its end; 0: alive
    };
    // A thread as perf has it, which may have ended since. perf finds threads by their tid alone.
    struct PerfThread {
        std::uint32_t pid = 0;
        std::optional<std::string> name;  // empty: none yet; nothing: of a parent that isn't known here
    };
    struct Process {
        std::shared_ptr<AddressSpace> space;       // shared by parent and child until one of them changes it
        std::shared_ptr<AddressSpace> perf_space;  // what perf sees, likewise; null: nothing
        std::uint64_t fork = 0;                    // number of its FORK record, with which perf began its mappings anew
        std::vector<bool> is_written;              // by index in `space`: perf sees that mapping; empty: not looked up
        std::shared_ptr<AddressSpace> whole;       // = perf_space: perf sees all mappings of `space`
        std::uint64_t ended = 0;
    };

    Thread& thread(std::uint32_t pid, std::uint32_t tid);
    Process& process(std::uint32_t pid);
    static AddressSpace& changeable(std::shared_ptr<AddressSpace>& space);
    // True unless perf sees this mapping; from here on it is taken to.
    static bool take_unwritten(Process& process, const ExportedMapping& mapping);
    void drop_oldest_ended();

    std::unordered_map<std::uint32_t, Thread> threads_;
    std::unordered_map<std::uint32_t, Process> processes_;
    std::unordered_map<std::uint32_t, PerfThread> perf_threads_;  // never forgotten: perf doesn't, either
    struct Ended {
        std::uint32_t pid;
        std::uint32_t tid;
        std::uint64_t number;
    };
    std::deque<Ended> ended_;
    std::uint64_t ended_count_ = 0;
    std::uint64_t fork_count_ = 0;
    std::uint32_t last_pid_ = 0;
    Process* last_process_ = nullptr;  // of last_pid_; most samples of a block are of few processes
};

}  // namespace perfleet
