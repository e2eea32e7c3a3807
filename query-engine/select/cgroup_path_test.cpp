#include "query-engine/select/cgroup_path.h"

#include <gtest/gtest.h>

namespace perfleet::cgroup_path_test {
namespace {

const std::string kId = "8d3c0f2c5d1f8a4b9e7c6d5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c";
const std::string kUid = "0b7a3f42-9c1e-4f0a-8d55-2a6de3b1c9f0";
const std::string kUidInSlice = "0b7a3f42_9c1e_4f0a_8d55_2a6de3b1c9f0";

struct Case {
    std::string path;
    std::string container;
    std::string pod;
    std::string unit;
};

// As these programs make them; version 1 where the path is of one of its hierarchies.
TEST(CgroupPath, TellsContainerPodAndUnit) {
    const std::string outer(64, 'a');
    const std::vector<Case> cases{
        // Docker: systemd's driver, cgroupfs, systemd within the container, Docker within Docker.
        {"/system.slice/docker-" + kId + ".scope", kId, "", "docker-" + kId + ".scope"},
        {"/docker/" + kId, kId, "", ""},
        {"/docker/" + kId + "/system.slice/nginx.service", kId, "", "nginx.service"},
        {"/docker/" + outer + "/docker/" + kId, kId, "", ""},
        {"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + kId + ".scope", kId, "",
         "docker-" + kId + ".scope"},
        // Kubernetes: containerd and CRI-O, systemd's driver and cgroupfs, each class of service, a static pod.
        {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kUidInSlice + ".slice/cri-containerd-" +
             kId + ".scope",
         kId, kUid, "cri-containerd-" + kId + ".scope"},
        {"/kubepods.slice/kubepods-pod" + kUidInSlice + ".slice/crio-" + kId + ".scope", kId, kUid,
         "crio-" + kId + ".scope"},
        {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + kUidInSlice + ".slice/crio-" + kId +
             ".scope/container",
         kId, kUid, "crio-" + kId + ".scope"},
        {"/kubepods/besteffort/pod" + kUid + "/" + kId, kId, kUid, ""},
        {"/kubepods/pod" + kUid + "/" + kId + "/init.scope", kId, kUid, "init.scope"},
        {"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" +
             kUidInSlice + ".slice/cri-containerd-" + kId + ".scope",
         kId, kUid, "cri-containerd-" + kId + ".scope"},
        {"/kubepods/burstable/podb2c7f1d4e5a69788c0d1e2f3a4b5c6d7/" + kId, kId, "b2c7f1d4e5a69788c0d1e2f3a4b5c6d7", ""},
        {"/system.slice/containerd.service/kubepods-burstable-pod" + kUidInSlice + ".slice:cri-containerd:" + kId, kId,
         kUid, "containerd.service"},
        {"/kubepods.slice/kubepods-pod" + kUidInSlice + ".slice/crio-conmon-" + kId + ".scope", "", kUid,
         "crio-conmon-" + kId + ".scope"},
        // Podman: of root, of a user, in a pod, its monitor.
        {"/machine.slice/libpod-" + kId + ".scope/container", kId, "", "libpod-" + kId + ".scope"},
        {"/machine.slice/libpod-conmon-" + kId + ".scope", "", "", "libpod-conmon-" + kId + ".scope"},
        {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope/container", kId, "",
         "libpod-" + kId + ".scope"},
        {"/machine.slice/machine-libpod_pod_" + outer + ".slice/libpod-" + kId + ".scope", kId, outer,
         "libpod-" + kId + ".scope"},
        {"/libpod_parent/libpod_pod_" + outer + "/libpod-" + kId, kId, outer, ""},
        // containerd by itself, Amazon's ECS, LXC, systemd-nspawn.
        {"/default/" + kId, kId, "", ""},
        {"/ecs/0fd5e2a14b2f4b0ca2a9b5be1f3a4c5d/" + kId, kId, "", ""},
        {"/lxc/web/system.slice/ssh.service", "web", "", "ssh.service"},
        {"/lxc.payload.web-1/init.scope", "web-1", "", "init.scope"},
        {"/lxc.payload/db", "db", "", ""},
        {"/lxc.monitor.web-1", "", "", ""},
        {"/machine.slice/machine-deb\\x2d12.scope/payload", "deb-12", "", "machine-deb\\x2d12.scope"},
        {"/machine.slice/systemd-nspawn@build.service/payload", "build", "", "systemd-nspawn@build.service"},
        // systemd: services, instances, users.
        {"/system.slice/nginx.service", "", "", "nginx.service"},
        {"/system.slice/system-getty.slice/getty@tty1.service", "", "", "getty@tty1.service"},
        {"/init.scope", "", "", "init.scope"},
        {"/user.slice/user-1000.slice/session-3.scope", "", "", "session-3.scope"},
        {"/user.slice/user-1000.slice/user@1000.service/init.scope", "", "", "user@1000.service"},
        {"/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox-2811.scope", "", "",
         "app-firefox-2811.scope"},
        {"/system.slice/udev.service/udev", "", "", "udev.service"},
        // Paths that show nothing, or aren't of these programs.
        {"/", "", "", ""},
        {"", "", "", ""},
        {"/my/pod/podium", "", "", ""},
        {"/docker/" + kId.substr(1), "", "", ""},
        {"/system.slice/.service/.scope", "", "", ""},
        {"/../../docker/" + kId, kId, "", ""},
    };
    for (const Case& one : cases) {
        const CgroupOwner owner = owner_of_cgroup(one.path);
        EXPECT_EQ(owner, (CgroupOwner{one.container, one.pod, one.unit}))
            << one.path << ": " << owner.container << ", " << owner.pod << ", " << owner.unit;
    }
}

TEST(CgroupPath, ContainersAreShortAsInDockerPs) {
    EXPECT_EQ(short_container(kId), "8d3c0f2c5d1f");
    EXPECT_EQ(short_container("web-with-a-long-name"), "web-with-a-long-name");
}

TEST(CgroupPath, GlobsAreWholeTexts) {
    EXPECT_TRUE(matches_glob("*", ""));
    EXPECT_TRUE(matches_glob("f(char\\*)*", "f(char*) const"));
    EXPECT_FALSE(matches_glob("f(char\\*)", "f(char, int*)"));
    EXPECT_FALSE(matches_glob("a\\*", "a"));
    EXPECT_TRUE(matches_glob("system-*\\x2dfsck.slice", "system-systemd\\x2dfsck.slice"));
    EXPECT_TRUE(matches_glob("a*c*e", "abcde"));
    EXPECT_TRUE(matches_glob("nginx?.service", "nginx1.service"));
    EXPECT_FALSE(matches_glob("a*c", "abcd"));
    EXPECT_FALSE(matches_glob("a", "ab"));
    EXPECT_FALSE(matches_glob("?", ""));
    std::string stars;
    for (int i = 0; i < 1'000; ++i) {
        stars += "a*";
    }
    EXPECT_FALSE(matches_glob(stars + "b", std::string(4'000, 'a')));
}

TEST(CgroupPath, FilterTakesPathsBelowIdsByFirstDigitsAndUnitsWithoutSuffix) {
    const std::string docker = "/system.slice/docker-" + kId + ".scope";
    const auto of = [](std::vector<std::string> CgroupFilter::*list, const std::string& pattern,
                       const std::string& path) {
        CgroupFilter filter;
        (filter.*list).push_back(pattern);
        EXPECT_FALSE(filter.empty());
        return filter.passes(path);
    };
    EXPECT_TRUE(CgroupFilter{}.passes("/any"));
    EXPECT_TRUE(of(&CgroupFilter::cgroups, "/system.slice", docker));
    EXPECT_TRUE(of(&CgroupFilter::cgroups, "system.slice/docker-*", docker));
    EXPECT_TRUE(of(&CgroupFilter::cgroups, "/", "/"));
    EXPECT_TRUE(of(&CgroupFilter::cgroups, "/", docker));
    EXPECT_FALSE(of(&CgroupFilter::cgroups, "/system", docker));
    EXPECT_TRUE(of(&CgroupFilter::containers, kId.substr(0, 4), docker));
    EXPECT_TRUE(of(&CgroupFilter::containers, kId, docker));
    EXPECT_TRUE(of(&CgroupFilter::containers, "*", docker));
    EXPECT_FALSE(of(&CgroupFilter::containers, "*", "/system.slice/nginx.service"));
    EXPECT_FALSE(of(&CgroupFilter::containers, "we", "/lxc/web"));
    EXPECT_TRUE(of(&CgroupFilter::containers, "we*", "/lxc/web"));
    EXPECT_TRUE(of(&CgroupFilter::units, "nginx", "/system.slice/nginx.service"));
    EXPECT_TRUE(of(&CgroupFilter::units, "user@*", "/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope"));
    EXPECT_TRUE(of(&CgroupFilter::units, "user-1000.slice", "/user.slice/user-1000.slice/session-3.scope"));
    EXPECT_FALSE(of(&CgroupFilter::units, "ngin", "/system.slice/nginx.service"));
    EXPECT_TRUE(of(&CgroupFilter::pods, "0b7a3f42", "/kubepods/pod" + kUid + "/" + kId));
    EXPECT_FALSE(of(&CgroupFilter::pods, "0b7a3f43", "/kubepods/pod" + kUid + "/" + kId));
}

}  // namespace
}  // namespace perfleet::cgroup_path_test
