// Finds programs with probes (probe/perfleet/probe.h) that this collector didn't start: switches their probes on, and
// gives their memory to the reader.
//
// One thread: the source's. A program is recognised by the section perfleet_door of a file that it has mapped as code.
// Everything read there and from the memory is hostile input; only the door's flag and the collector's fields in the
// memory are written. Needs the right to trace the process (same user, or CAP_SYS_PTRACE). Skipped with a message:
// programs that another collector records, that are in another PID namespace, or that filter system calls, because
// creating the memory needs one.
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

#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/process/process_table.h"
#include "target-collector/source/linux/image/probe_sections.h"
#include "target-collector/source/linux/probe_area.h"
#include "target-collector/source/linux/probe_reader.h"

namespace perfleet {

class ProbePrograms : NonCopyable {
public:
    static constexpr std::size_t kAreasMax = 64;
    // The place of the door in a mapped file; empty: none, or unreadable.
    using FindDoor = std::function<std::optional<ProbeDoorPlace>(std::uint32_t pid, const Mapping& mapping)>;

    // `reader` is borrowed.
    ProbePrograms(ProbeReader& reader, FindDoor find_door, std::function<void(std::string_view)> log);
    // Switches off probes that close() has not.
    ~ProbePrograms();

    // To be called when the process is new, has executed a program, mapped a file or ended; visit() checks it.
    void note(std::uint32_t pid) { noted_.push_back(pid); }
    // To be called several times a second: switches probes on, opens memory, and releases that of ended processes.
    void visit(ProcessTable& processes, std::uint64_t now_ns);
    // Images get new indexes from now on.
    void forget_images() { doors_.clear(); }
    // Switches probes off; to be called before the reader's last drain. Logs if no program had probes.
    void close();

    // Number of recorded areas; a program shares one with its forked children.
    [[nodiscard]] std::size_t area_count() const { return areas_.size(); }

private:
    enum class State : std::uint8_t { kWaiting, kRecorded, kLeftAlone };
    struct Program {
        std::uint64_t door = 0;  // its address there
        State state = State::kWaiting;
        int area_fd = -1;
        unsigned knock_count = 0;
        bool has_names = false;
        std::shared_ptr<ProbeArea> area;  // shared with forked children
    };

    void look_at(std::uint32_t pid, ProcessTable& processes);
    // `door` is 0 if the process has none.
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
    bool has_found_ = false;  // a program with names of probes was found
    std::map<std::uint32_t, Program> programs_;
    std::vector<std::shared_ptr<ProbeArea>> areas_;
    // By image and file offset; empty: none.
    std::map<std::pair<ImageIndex, std::uint64_t>, std::optional<ProbeDoorPlace>> doors_;
};

}  // namespace perfleet
