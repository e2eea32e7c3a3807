// Names JIT code of a recording that was made on this host: frames in memory without a file become frames of the
// functions that their process has listed in `/tmp/perf-PID.map`, as perf shows them. A process that still runs, such
// as in a container, has the file in its own root and by its own number.
//
// The file must be a regular file of the caller or root, written after the process began (or after the recording began,
// if an older process has ended). If the process has ended, it must also be written before the recording ended: pids
// are reused, and files remain. A process that was forked has its parent's names, too. A map has no times: of several
// functions at one address the last is taken, with a warning. One thread. Memory: kProcessesMax maps of PerfMap's
// limits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schemas/vocabulary/time.h"
#include "target-collector/process/image_table.h"
#include "target-collector/process/perf_map.h"
#include "target-collector/process/stack_resolver.h"

namespace perfleet {

class RecordedCode {
public:
    static constexpr std::size_t kProcessesMax = 64;  // that have maps; frames of others aren't named
    static constexpr std::size_t kMapSizeBytesMax = 64U << 20;

    // Borrows `table`.
    RecordedCode(ImageTable& table, bool is_own_host, std::pair<UtcNs, UtcNs> recorded, std::string folder = "/tmp")
        : table_{table}, is_own_host_{is_own_host}, recorded_{recorded}, folder_{std::move(folder)} {}

    // The process began while it was recorded.
    void note_fork(std::uint32_t pid, std::uint32_t parent_pid, UtcNs time);
    // The process whose map names the frames of this one: itself, or one that it was forked from; 0: none.
    [[nodiscard]] std::uint32_t pid_of_map(std::uint32_t pid);
    void name_frames(std::uint32_t pid, ResolvedStack& stack);

    [[nodiscard]] std::vector<std::string> warnings() const;

private:
    struct Fork {
        std::uint32_t parent_pid = 0;
        UtcNs time;
    };
    // Null: it has no map of its own.
    [[nodiscard]] const PerfMap* map_of(std::uint32_t pid);
    [[nodiscard]] std::string text_of_map(std::uint32_t pid) const;

    ImageTable& table_;
    bool is_own_host_;
    std::pair<UtcNs, UtcNs> recorded_;  // from, until
    std::string folder_;
    std::map<std::uint32_t, Fork> forks_;    // by pid
    std::map<std::uint32_t, PerfMap> maps_;  // by pid; empty ones of processes without a file
    std::size_t map_count_ = 0;              // that aren't empty
    std::size_t left_out_count_ = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> named_by_;  // answers of pid_of_map()
    std::map<std::uint32_t, std::size_t> replaced_;
};

}  // namespace perfleet
