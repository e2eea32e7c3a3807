// Programs with probes (probe/perfleet/probe.h) that run already, or that nobody started for this collector: their
// probes are switched on, and the memory that they make is given to the reader.
//
// One thread: the source's. A program is found by the section perfleet_door of a file that it has mapped as code. What
// is read there, and of the memory, is hostile input; the only things that are written are the flag of the door and
// what the memory's layout gives to the collector. It takes the right to trace the process (its user, CAP_SYS_PTRACE).
// Left alone, with a message: programs that another collector records, that are in another PID namespace, or that
// filter system calls, for the memory is made by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "target-collector/process/process_table.h"
#include "target-collector/source/linux/image/probe_sections.h"
#include "target-collector/source/linux/probe_area.h"
#include "target-collector/source/linux/probe_reader.h"

namespace perfleet {

class ProbePrograms {
public:
    static constexpr std::size_t kAreasMax = 64;
    // Where the file that a process has mapped has its door; empty: nowhere, or it can't be read.
    using FindDoor = std::function<std::optional<ProbeDoorPlace>(std::uint32_t pid, const Mapping& mapping)>;

    // `reader` is borrowed.
    ProbePrograms(ProbeReader& reader, FindDoor find_door, std::function<void(std::string_view)> log);
    // Switches off what close() has not.
    ~ProbePrograms();
    ProbePrograms(const ProbePrograms&) = delete;
    ProbePrograms& operator=(const ProbePrograms&) = delete;

    // The process is new, runs another program, mapped a file or has ended: visit() looks at it.
    void note(std::uint32_t pid) { noted_.push_back(pid); }
    // Some times a second: switches probes on, takes memory, and gives back that of processes that have ended.
    void visit(ProcessTable& processes, std::uint64_t now_ns);
    // Images have other indexes from now on.
    void forget_images() { doors_.clear(); }
    // Programs write no more: before the reader's last drain. A log says so where no program had probes.
    void close();

    // Of programs that are recorded now: one of a program and what it forked.
    [[nodiscard]] std::size_t area_count() const { return areas_.size(); }

private:
    enum class State : std::uint8_t { kWaiting, kRecorded, kLeftAlone };
    struct Program {
        std::uint64_t door = 0;  // its address there
        State state = State::kWaiting;
        int area_fd = -1;
        unsigned knock_count = 0;
        bool has_names = false;
        std::shared_ptr<ProbeArea> area;  // shared with what it forked
    };

    void look_at(std::uint32_t pid, ProcessTable& processes);
    // Its address 0: the process has none.
    [[nodiscard]] Program program_of(const Process& process);
    void serve(std::uint32_t pid, Program& program);
    void take(std::uint32_t pid, Program& program, int area_fd);
    void leave_alone(std::uint32_t pid, Program& program, const std::string& why);
    void drop_idle();

    ProbeReader& reader_;
    FindDoor find_door_;
    std::function<void(std::string_view)> log_;
    std::vector<std::uint32_t> noted_;
    std::uint64_t visited_ns_ = 0;
    std::size_t report_count_ = 0;
    bool has_found_ = false;  // a program that has names of probes
    std::map<std::uint32_t, Program> programs_;
    std::vector<std::shared_ptr<ProbeArea>> areas_;
    // By image and file offset; empty: there is none.
    std::map<std::pair<ImageIndex, std::uint64_t>, std::optional<ProbeDoorPlace>> doors_;
};

}  // namespace perfleet
