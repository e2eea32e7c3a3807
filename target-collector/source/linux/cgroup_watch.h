// Which cgroup each process is in: the longest path of two. Samples name a cgroup by its id (Linux 5.7), however short
// the process lives; the path of an id is that of the kernel's record of a cgroup that was made, or of the folder that
// the id stands for. /proc/PID/cgroup is read when a process is first seen, when it runs another program, and again
// while it is sampled: for other hierarchies, for kernels that don't say it, and because samples name the cgroup above
// where no controller was handed down to the process's.
//
// A forked process begins in its parent's cgroup without being read. One thread. Bounded: kReadsPerSecondMax; what
// isn't read then is read at a later sample of the process. kPathsMax; more than that, and all are looked up again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schemas/host/file_descriptor.h"
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

    static constexpr std::size_t kPathsMax = 65'536;

    CgroupWatch();

    // A cgroup was made.
    void add(std::uint64_t id, std::string_view path);

    // `id`: the kernel's, which the process is in now; 0: it doesn't say. Reads where that is due. True: the process's
    // cgroup is another one than before.
    [[nodiscard]] bool refresh(Process& process, std::uint64_t id, std::uint64_t now_ns) {
        const bool has_moved = id != 0 && id != process.cgroup_id;
        return (has_moved || now_ns - process.cgroup_read_ns >= kReadAgainNs) && process.pid != 0 &&
               look(process, has_moved ? id : process.cgroup_id, now_ns);
    }

private:
    using Path = std::shared_ptr<const std::string>;

    bool look(Process& process, std::uint64_t id, std::uint64_t now_ns);
    // Null: it isn't known.
    Path path_of(std::uint64_t id);
    bool may_read(std::uint64_t now_ns);

    std::string root_;        // where the hierarchy of the ids is mounted
    FileDescriptor root_fd_;  // -1: it isn't
    std::unordered_map<std::uint64_t, Path> paths_;

    std::uint64_t second_began_ns_ = 0;
    std::uint32_t read_count_ = 0;  // in this second
};

}  // namespace perfleet
