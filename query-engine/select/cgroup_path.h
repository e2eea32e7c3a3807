// Finds the container, pod and systemd unit in a cgroup's path.
//
// Knows the paths of Docker, containerd, CRI-O, Podman, LXC and systemd-nspawn, of cgroup version 1 and 2, and of
// Kubernetes with either cgroup driver. Paths are untrusted text of a target. Threads: any. No errors: parts that the
// path doesn't name are empty.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace perfleet {

struct CgroupOwner {
    std::string container;  // the innermost: an id of 64 hexadecimal digits, or a name (LXC, systemd-nspawn)
    std::string pod;        // Kubernetes' pod uid, Podman's pod id
    std::string unit;       // the innermost systemd service or scope

    friend auto operator<=>(const CgroupOwner&, const CgroupOwner&) = default;
};

[[nodiscard]] CgroupOwner owner_of_cgroup(std::string_view path);

// As `docker ps` shows it: the first twelve digits of an id, or the whole name.
[[nodiscard]] std::string_view short_container(std::string_view container);

// `*` stands for any text, `?` for any one character, `\*` and `\?` for themselves.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);
[[nodiscard]] bool matches_any(const std::vector<std::string>& patterns, std::string_view text);

// The filters --cgroup, --container, --pod and --unit. An empty list accepts everything.
struct CgroupFilter {
    std::vector<std::string> cgroups;     // globs of a path or one of its parents, with or without the leading slash
    std::vector<std::string> containers;  // globs, or first digits of an id
    std::vector<std::string> pods;        // the same
    std::vector<std::string> units;       // globs of a service, slice or scope on the path; without a suffix: a service

    [[nodiscard]] bool empty() const { return cgroups.empty() && containers.empty() && pods.empty() && units.empty(); }
    [[nodiscard]] bool passes(std::string_view path) const;
};

}  // namespace perfleet
