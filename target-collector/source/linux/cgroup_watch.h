// Tracks the cgroup of each process; of two paths the longest is used. Samples name a cgroup by id (Linux 5.7), however
// short the process lives; the id's path comes from the kernel's record of a new cgroup, or from the folder with this
// id. /proc/PID/cgroup is read when a process is first seen, after an exec, and again while it is sampled. This covers
// other hierarchies and kernels without ids, and is needed because samples name the parent cgroup if no controller is
// delegated to the process's own.
//
// A forked process begins in its parent's cgroup without a read. One thread. Limits: kReadsPerSecondMax; further reads
// are made at a later sample of the process. kPathsMax; above it all paths are dropped and looked up again.
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
// If they differ the longest path is used, because it names the container or service; of equally long ones version 2's,
// then systemd's. Empty: none.
[[nodiscard]] std::optional<std::string> cgroup_in_text(std::string_view text);

class CgroupWatch {
public:
    static constexpr std::uint32_t kReadsPerSecondMax = 1'000;
    static constexpr std::uint64_t kReadAgainNs = 10'000'000'000;

    static constexpr std::size_t kPathsMax = 65'536;

    CgroupWatch();

    // Adds a new cgroup.
    void add(std::uint64_t id, std::string_view path);

    // `id`: the kernel's id of the process's current cgroup; 0: unknown. Reads /proc if that is due. True: the
    // process's cgroup has changed.
    [[nodiscard]] bool refresh(Process& process, std::uint64_t id, std::uint64_t now_ns) {
        const bool has_moved = id != 0 && id != process.cgroup_id;
        return (has_moved || now_ns - process.cgroup_read_ns >= kReadAgainNs) && process.pid != 0 &&
               look(process, has_moved ? id : process.cgroup_id, now_ns);
    }

private:
    using Path = std::shared_ptr<const std::string>;

    bool look(Process& process, std::uint64_t id, std::uint64_t now_ns);
    // Null: unknown.
    Path path_of(std::uint64_t id);
    bool may_read(std::uint64_t now_ns);

    std::string root_;        // mount point of the hierarchy with the ids
    FileDescriptor root_fd_;  // -1: not mounted
    std::unordered_map<std::uint64_t, Path> paths_;

    std::uint64_t second_began_ns_ = 0;
    std::uint32_t read_count_ = 0;  // in the current second
};

}  // namespace perfleet
