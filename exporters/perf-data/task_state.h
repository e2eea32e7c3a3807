// What perf has been told of threads and processes, and where each process has mapped what.
//
// Epochs repeat what is known (who runs, what is mapped); perf needs to hear it once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "exporters/perf-data/address_space.h"

namespace perfleet {

// Processes that have ended stay known for a while: their last samples can come after their end.
inline constexpr std::size_t kEndedTasksMax = 4'096;

class TaskState {
public:
    // Whether the thread's name is news.
    [[nodiscard]] bool set_name(std::uint32_t pid, std::uint32_t tid, std::string_view name);
    [[nodiscard]] bool knows_thread(std::uint32_t tid) const { return threads_.contains(tid); }

    void exec(std::uint32_t pid);
    void fork(std::uint32_t parent_pid, std::uint32_t parent_tid, std::uint32_t pid, std::uint32_t tid);
    void exit(std::uint32_t pid, std::uint32_t tid);

    // Whether the mapping is news.
    [[nodiscard]] bool map(std::uint32_t pid, const ExportedMapping& mapping);
    [[nodiscard]] std::optional<std::uint64_t> find(std::uint32_t pid, ExportedImage image, std::uint64_t offset);
    // As AddressSpace::place.
    [[nodiscard]] std::optional<ExportedMapping> place(std::uint32_t pid, ExportedImage image, std::uint64_t offset);

    // Another start of the machine, or so long ago that nothing is as it was.
    void forget();

private:
    struct Thread {
        std::uint32_t pid = 0;
        std::string name;
        std::uint64_t ended = 0;  // number of its end; 0: alive
    };
    struct Process {
        std::shared_ptr<AddressSpace> space;  // shared by parent and child until one of them changes it
        std::uint64_t ended = 0;
    };

    Process& process(std::uint32_t pid);
    AddressSpace& changeable(Process& process);
    void drop_oldest_ended();

    std::unordered_map<std::uint32_t, Thread> threads_;
    std::unordered_map<std::uint32_t, Process> processes_;
    struct Ended {
        std::uint32_t pid;
        std::uint32_t tid;
        std::uint64_t number;
    };
    std::deque<Ended> ended_;
    std::uint64_t ended_count_ = 0;
    std::uint32_t last_pid_ = 0;
    Process* last_process_ = nullptr;  // of last_pid_; most samples of a block are of few processes
};

}  // namespace perfleet
