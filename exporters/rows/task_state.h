// The recorded state of threads, processes and mappings, and the part of it that perf knows from records written so
// far.
//
// Most tasks of a recording have no samples in a selection. So a task's records are written before its first sample, a
// mapping before the first frame in it; others aren't written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exporters/rows/address_space.h"

namespace perfleet {

// Ended processes that are kept, because their last samples may come after their end.
inline constexpr std::size_t kEndedTasksMax = 4'096;

class TaskState {
public:
    // -- the recorded state

    void set_name(std::uint32_t pid, std::uint32_t tid, std::string_view name);
    void exec(std::uint32_t pid, std::uint32_t tid, std::string_view name);
    void fork(std::uint32_t parent_pid, std::uint32_t parent_tid, std::uint32_t pid, std::uint32_t tid);
    void exit(std::uint32_t pid, std::uint32_t tid);
    void map(std::uint32_t pid, const ExportedMapping& mapping);
    // False: it was in these already.
    bool set_namespaces(std::uint32_t pid, std::uint32_t tid, std::string_view namespaces);

    // The mapping of this address; null: none is known. Valid until the state changes.
    [[nodiscard]] const ExportedMapping* mapping_at(std::uint32_t pid, std::uint64_t address);

    // As perf shows it: ":tid" if no name is known. Valid until the state changes.
    [[nodiscard]] std::string_view name_of(std::uint32_t pid, std::uint32_t tid);

    // Drops everything: the machine was restarted, or too much time has passed.
    void forget();

    // -- records that perf needs before a sample

    // Records of a thread, in this order. Empty if perf knows the thread by its name.
    struct ThreadRecords {
        struct Parent {
            std::uint32_t pid = 0;
            std::uint32_t tid = 0;
        };
        std::optional<Parent> fork;
        std::optional<std::string_view> name;  // valid until the state changes
        bool is_exec = false;
    };
    // The caller must write the returned records; perf then counts as knowing them. A process's first thread comes
    // before its others, because perf keeps the mappings with it.
    [[nodiscard]] ThreadRecords take_thread_records(std::uint32_t pid, std::uint32_t tid);
    [[nodiscard]] bool is_known(std::uint32_t tid) const {
        const auto found = threads_.find(tid);
        return found != threads_.end() && found->second.is_known;
    }

    // perf knows the thread and has no name of it yet. It gives the first name also to earlier samples.
    [[nodiscard]] bool is_known_without_name(std::uint32_t tid) const {
        return is_known(tid) && perf_threads_.at(tid).name == "";
    }

    // A frame's address, and the mapping to write first: nullptr if perf knows it. perf then counts as knowing it.
    // Valid until the state changes.
    struct Place {
        std::uint64_t address = 0;
        const ExportedMapping* unwritten = nullptr;
    };
    // For an image whose mapping is unknown: AddressSpace::place. None if no addresses are free.
    [[nodiscard]] std::optional<Place> place(std::uint32_t pid, ExportedImage image, std::uint64_t offset);
    // For a frame that is given by its address.
    [[nodiscard]] Place place(std::uint32_t pid, std::uint64_t address);

    // All mappings of a process that perf doesn't know yet, for addresses that no frame names. The caller must write
    // them.
    [[nodiscard]] std::vector<ExportedMapping> take_unwritten_mappings(std::uint32_t pid);

    // Approximate memory.
    [[nodiscard]] std::size_t size_bytes() const;

private:
    struct Thread {
        std::uint32_t pid = 0;
        std::optional<ThreadRecords::Parent> parent;
        std::string name;
        std::string namespaces;
        bool is_known = false;       // to perf
        bool is_name_known = false;  // likewise
        bool has_execed = false;     // since its name was written
        std::uint64_t fork = 0;      // of its process, that perf knew it in
        std::uint64_t ended = 0;     // number of its end; 0: alive
    };
    // A thread as perf knows it; it may have ended. perf finds threads by tid alone.
    struct PerfThread {
        std::uint32_t pid = 0;
        std::optional<std::string> name;  // empty: none yet; nothing: the parent is unknown
    };
    struct Process {
        std::shared_ptr<AddressSpace> space;       // shared by parent and child until one of them changes it
        std::shared_ptr<AddressSpace> perf_space;  // perf's mappings, shared likewise; null: none
        std::uint64_t fork = 0;                    // number of its FORK record, at which perf's mappings restarted
        std::vector<bool> is_written;              // by index in `space`: perf knows the mapping; empty: not computed
        std::shared_ptr<AddressSpace> whole;       // equals perf_space if perf knows all mappings of `space`
        std::uint64_t ended = 0;
    };

    Thread& thread(std::uint32_t pid, std::uint32_t tid);
    Process& process(std::uint32_t pid);
    static AddressSpace& changeable(std::shared_ptr<AddressSpace>& space);
    // True if perf doesn't know this mapping; perf then counts as knowing it.
    static bool take_unwritten(Process& process, const ExportedMapping& mapping);
    void drop_oldest_ended();

    std::unordered_map<std::uint32_t, Thread> threads_;
    std::unordered_map<std::uint32_t, Process> processes_;
    std::unordered_map<std::uint32_t, PerfThread>
        perf_threads_;  // never dropped, because perf doesn't drop them either
    struct Ended {
        std::uint32_t pid;
        std::uint32_t tid;
        std::uint64_t number;
    };
    std::deque<Ended> ended_;
    std::uint64_t ended_count_ = 0;
    std::uint64_t fork_count_ = 0;
    std::uint32_t last_pid_ = 0;
    Process* last_process_ = nullptr;  // of last_pid_; most samples of a block share few processes
};

}  // namespace perfleet
