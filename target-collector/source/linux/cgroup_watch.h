// Which cgroup each process is in, as /proc/PID/cgroup tells it: read when a process is first seen, when it runs
// another program, and again while it is sampled.
//
// A forked process begins in its parent's cgroup without being read. One thread. Bounded: kReadsPerSecondMax; what
// isn't read then is read at a later sample of the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "target-collector/process/process_table.h"

namespace perfleet {

// The cgroup in the text of /proc/PID/cgroup, which has a line for each hierarchy of version 1 and one for version 2.
// Where they differ the longest path is the one that a container or service was put in (the others stop above it);
// of equally long ones version 2's, then systemd's. Empty: there is none.
[[nodiscard]] std::optional<std::string> cgroup_in_text(std::string_view text);

class CgroupWatch {
public:
    static constexpr std::uint32_t kReadsPerSecondMax = 1'000;
    static constexpr std::uint64_t kReadAgainNs = 10'000'000'000;

    // Reads it where that is due. True: the process's cgroup is another one than before.
    [[nodiscard]] bool refresh(Process& process, std::uint64_t now_ns) {
        return now_ns - process.cgroup_read_ns >= kReadAgainNs && process.pid != 0 && read(process, now_ns);
    }

private:
    bool read(Process& process, std::uint64_t now_ns);

    std::uint64_t second_began_ns_ = 0;
    std::uint32_t read_count_ = 0;  // in this second
};

}  // namespace perfleet
