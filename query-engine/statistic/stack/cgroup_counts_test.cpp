// Rows by cgroup, and filters of cgroups, against a replay of the history.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "query-engine/statistic/testing/profile_scenario.h"
#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/stores.h"

namespace perfleet::cgroup_counts_test {
namespace {

const std::string kFirstId(64, 'a');
const std::string kSecondId(64, 'b');
const std::vector<std::string> kPaths{"/", "/system.slice/docker-" + kFirstId + ".scope", "/docker/" + kSecondId,
                                      "/system.slice/nginx.service", "/user.slice/user-1.slice/session-2.scope"};

// Cgroups of processes that are there, are moved, and are forked.
ProfileScenario scenario_with_cgroups() {
    ProfileScenario scenario = make_scenario(7);
    std::mt19937_64 random{11};
    for (ScenarioSession& session : scenario.sessions) {
        for (ScenarioEpoch& epoch : session.epochs) {
            const std::uint64_t start = epoch.tasks.front().ticks;
            for (int i = 0; i < 12; ++i) {
                ScenarioTask task;
                task.ticks = start + random() % 10'000;
                task.op = TaskOp::kCgroup;
                task.pid = task.tid = 100 + static_cast<std::uint32_t>(random() % 3);
                task.name = kPaths[random() % kPaths.size()];
                epoch.tasks.push_back(task);
            }
            // One that is forked and moved: in its parent's until then.
            epoch.tasks.push_back({start + 2'000, TaskOp::kFork, 104, 104, 100, 100, ""});
            epoch.tasks.push_back({start + 6'000, TaskOp::kCgroup, 104, 104, 0, 0, kPaths[2]});
            for (std::uint64_t i = 0; i < 40; ++i) {
                epoch.samples.push_back({start + 2'100 + i * 190, 0, 104, 104, 1, {{0, 16}}});
            }
            std::stable_sort(epoch.tasks.begin(), epoch.tasks.end(),
                             [](const ScenarioTask& a, const ScenarioTask& b) { return a.ticks < b.ticks; });
            std::stable_sort(epoch.samples.begin(), epoch.samples.end(),
                             [](const ScenarioSample& a, const ScenarioSample& b) { return a.ticks < b.ticks; });
        }
    }
    return scenario;
}

// By replaying the epoch's whole history up to the sample.
std::string replayed_cgroup(const ScenarioEpoch& epoch, std::uint32_t pid, std::uint64_t ticks) {
    std::map<std::uint32_t, std::string> cgroups;
    const auto is_fork = [](const ScenarioTask& task) {
        return task.op == TaskOp::kFork && task.pid != task.parent_pid;
    };
    const auto of_it = [&](std::uint32_t of) {
        return [&is_fork, of](const ScenarioTask& task) {
            return task.pid == of && (task.op == TaskOp::kCgroup || is_fork(task));
        };
    };
    for (const ScenarioTask& task : epoch.tasks) {
        const auto first = std::find_if(epoch.tasks.begin(), epoch.tasks.end(), of_it(task.pid));
        if (first != epoch.tasks.end() && first->op == TaskOp::kCgroup) {
            cgroups[task.pid] = first->name;  // holds from before
        }
    }
    auto task = epoch.tasks.begin();
    for (; task != epoch.tasks.end() && task->ticks <= ticks; ++task) {
        if (task->op == TaskOp::kCgroup) {
            cgroups[task->pid] = task->name;
        } else if (is_fork(*task)) {
            cgroups[task->pid] = cgroups[task->parent_pid];
        }
    }
    if (cgroups[pid].empty()) {  // of an unknown parent: what is reported of it next
        const auto next = std::find_if(task, epoch.tasks.end(), of_it(pid));
        const bool was_forked = std::find_if(epoch.tasks.begin(), task, of_it(pid)) != task;
        return was_forked && next != epoch.tasks.end() && next->op == TaskOp::kCgroup ? next->name : "";
    }
    return cgroups[pid];
}

std::map<std::string, std::uint64_t> replayed_counts(const ProfileScenario& scenario) {
    std::map<std::string, std::uint64_t> counts;
    for (const ScenarioSession& session : scenario.sessions) {
        for (const ScenarioEpoch& epoch : session.epochs) {
            for (const ScenarioSample& sample : epoch.samples) {
                if (sample.event == 0) {
                    ++counts[replayed_cgroup(epoch, sample.pid, sample.ticks)];
                }
            }
        }
    }
    return counts;
}

std::map<std::string, std::uint64_t> top_by(const std::string& what, const StoreReader& store,
                                            OptionTexts options = {}) {
    options["by"] = what;
    options["measure"] = "samples";
    const Result<Answer> answer = run_text_query("top", options, store, {}, UtcNs{0});
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    std::map<std::string, std::uint64_t> counts;
    if (answer.ok()) {
        const auto column = [&](std::string_view name) {
            const auto found = std::find_if(answer->columns.begin(), answer->columns.end(),
                                            [&](const AnswerColumn& one) { return one.name == name; });
            return static_cast<std::size_t>(found - answer->columns.begin());
        };
        for (const auto& row : answer->rows) {
            counts[std::get<std::string>(row[column(what)])] += std::get<std::uint64_t>(row[column("self")]);
        }
    }
    return counts;
}

class CgroupCounts : public ::testing::TestWithParam<std::size_t> {
protected:
    void SetUp() override { deliver(scenario_, DeliveryOrder{.order_seed = 3, .compact_every = GetParam()}, *store_); }

    ProfileScenario scenario_ = scenario_with_cgroups();
    std::unique_ptr<Store> store_ = make_memory_store();
};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutCompaction, CgroupCounts, ::testing::Values(std::size_t{0}, std::size_t{7}));

TEST_P(CgroupCounts, AreThoseOfAReplay) {
    std::map<std::string, std::uint64_t> expected = replayed_counts(scenario_);
    std::map<std::string, std::uint64_t> containers;
    std::map<std::string, std::uint64_t> units;
    for (const auto& [path, count] : expected) {
        const bool is_known = !path.empty();
        const CgroupOwner owner = owner_of_cgroup(path);
        containers[!is_known                 ? "[unknown]"
                   : owner.container.empty() ? "[none]"
                                             : owner.container.substr(0, 12)] += count;
        units[!is_known ? "[unknown]" : owner.unit.empty() ? "[none]" : owner.unit] += count;
    }
    expected["[unknown]"] = expected[""];
    expected.erase("");
    ASSERT_EQ(expected.size(), kPaths.size() + 1);
    EXPECT_EQ(top_by("cgroup", *store_), expected);
    EXPECT_EQ(top_by("container", *store_), containers);
    EXPECT_EQ(top_by("unit", *store_), units);
}

TEST_P(CgroupCounts, OfAFilterAreItsRowsOfTheUnfiltered) {
    const auto containers = top_by("container", *store_);
    EXPECT_EQ(top_by("container", *store_, {{"container", "aaaa"}}),
              (std::map<std::string, std::uint64_t>{{kFirstId.substr(0, 12), containers.at(kFirstId.substr(0, 12))}}));
    EXPECT_EQ(top_by("container", *store_, {{"container", "aa,b*"}}).size(), 2U);
    const auto cgroups = top_by("cgroup", *store_);
    EXPECT_EQ(
        top_by("cgroup", *store_, {{"cgroup", "/system.slice"}}),
        (std::map<std::string, std::uint64_t>{{kPaths[1], cgroups.at(kPaths[1])}, {kPaths[3], cgroups.at(kPaths[3])}}));
    EXPECT_EQ(top_by("unit", *store_, {{"unit", "nginx"}}),
              (std::map<std::string, std::uint64_t>{{"nginx.service", cgroups.at(kPaths[3])}}));
    EXPECT_TRUE(top_by("pod", *store_, {{"pod", "*"}}).empty());
    // With the filters that there were before.
    std::uint64_t of_process = 0;
    for (const auto& [path, count] : top_by("cgroup", *store_, {{"cgroup", "system.slice"}, {"pid", "104"}})) {
        of_process += count;
    }
    EXPECT_LE(of_process, cgroups.at(kPaths[1]) + cgroups.at(kPaths[3]));
}

}  // namespace
}  // namespace perfleet::cgroup_counts_test
