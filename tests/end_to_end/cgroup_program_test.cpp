// Containers and units, recognised by the cgroups of real processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::cgroup_program_test {
namespace {

// Folders of cgroups, in version 2's hierarchy or one of version 1; removed at the end.
class Cgroups {
public:
    Cgroups() {
        for (const char* root : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}) {
            std::error_code error;
            if (std::filesystem::exists(std::filesystem::path{root} / "cgroup.procs", error) &&
                ::access(root, W_OK) == 0) {
                root_ = root;
                break;
            }
        }
    }
    Cgroups(const Cgroups&) = delete;
    Cgroups& operator=(const Cgroups&) = delete;
    ~Cgroups() {
        for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) {
            ::rmdir(folder->c_str());
        }
    }
    [[nodiscard]] bool is_there() const { return !root_.empty(); }
    // The file into which a process writes itself.
    std::string make(const std::string& path) {
        std::filesystem::path folder{root_};
        for (const auto& part : std::filesystem::path{path}) {
            folder /= part;
            if (std::filesystem::create_directory(folder)) {
                made_.push_back(folder);
            }
        }
        return folder / "cgroup.procs";
    }

private:
    std::string root_;
    std::vector<std::filesystem::path> made_;
};

std::map<std::string, std::uint64_t> self_by(const std::string& what, std::vector<std::string> options) {
    options.insert(options.begin(), {"top", "--by", what});
    std::map<std::string, std::uint64_t> sums;
    for (const auto& row : rows_of(perfleet_json(options))) {
        sums[row.at(what).get<std::string>()] += row.at("self_samples").get<std::uint64_t>();
    }
    return sums;
}

TEST(CgroupProgram, RowsAndFiltersByContainerAndUnit) {
    Cgroups cgroups;
    if (!cgroups.is_there()) {
        GTEST_SKIP() << "needs the right to make cgroups";
    }
    const std::string prefix = "perfleet-test-" + std::to_string(::getpid());
    std::string first(64, 'a');
    std::string second(64, 'b');
    first.replace(0, 6, "c0ffee");
    const std::string docker = cgroups.make(prefix + "/docker/" + first);
    const std::string pod = cgroups.make(prefix +
                                         "/kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/"
                                         "cri-containerd-" +
                                         second + ".scope");
    // Longer than the paths that the test's own cgroups may have in other hierarchies (cgroup_watch.h).
    const std::string unit = "busy-" + std::string(80, 'x') + ".service";
    const std::string service = cgroups.make(prefix + "/" + unit);
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    const std::string busy = folder / "busy";
    std::ofstream{busy} << "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
    // A runtime puts a process into its cgroup, which then runs another program, as here.
    const std::string script = "for procs in " + docker + " " + pod + " " + service +
                               "; do sh -c 'echo $$ > '$procs'; exec sh " + busy + "'; done";
    const Finished recorded = run(
        {program_path("perfleet"), "record", "--data", data, "-e", "cpu-clock", "-F", "999", "--", "sh", "-c", script});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;

    const auto containers = self_by("container", {"--data", data});
    ASSERT_TRUE(containers.contains(first.substr(0, 12)));
    ASSERT_TRUE(containers.contains(second.substr(0, 12)));
    EXPECT_GT(containers.at(first.substr(0, 12)), 10U);
    EXPECT_GT(containers.at(second.substr(0, 12)), 10U);
    EXPECT_GT(containers.at("[none]"), 10U) << "the service";
    const auto units = self_by("unit", {"--data", data});
    EXPECT_GT(units.at(unit), 10U);
    const auto pods = self_by("pod", {"--data", data});
    EXPECT_EQ(pods.at("01234567-89ab-cdef-0123-456789abcdef"), containers.at(second.substr(0, 12)));

    EXPECT_EQ(self_by("container", {"--data", data, "--container", "c0ffee"}),
              (std::map<std::string, std::uint64_t>{{first.substr(0, 12), containers.at(first.substr(0, 12))}}));
    EXPECT_EQ(self_by("unit", {"--data", data, "--unit", "busy-*"}),
              (std::map<std::string, std::uint64_t>{{unit, units.at(unit)}}));
    EXPECT_EQ(self_by("container", {"--data", data, "--cgroup", prefix + "/docker"}).size(), 1U);
    // In the tree and in exports, too.
    std::uint64_t folded_sum = 0;
    const std::string file = folder / "folded";
    (void)perfleet(
        {"export", "--to", "folded", "-o", file, "--data", data, "--container", "c0ffee", "--measure", "samples"});
    const Finished folded = run({"cat", file});
    std::istringstream lines{folded.output};
    for (std::string line; std::getline(lines, line);) {
        folded_sum += std::stoull(line.substr(line.rfind(' ') + 1));
    }
    EXPECT_EQ(folded_sum, containers.at(first.substr(0, 12)));
}

}  // namespace
}  // namespace perfleet::end_to_end::cgroup_program_test
