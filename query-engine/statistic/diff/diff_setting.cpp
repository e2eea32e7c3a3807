#include "query-engine/statistic/diff/diff_setting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "query-engine/statistic/diff/diff_runs.h"
#include "query-engine/statistic/latency/latency_source.h"

namespace perfleet {
namespace {

constexpr std::size_t kValuesNamedMax = 3;

// The values of each setting among the sessions of a side; "" stands for sessions without it.
using Said = std::map<std::string, std::set<std::string>>;

// Labels that describe the result, not how it was measured.
bool is_about_result(const std::string& key) {
    return key == "status" || key == "error" || key == kRepetitionLabel || key == "baseline" ||
           key.starts_with("reported_");
}

Said said_by(const DiffSide& side) {
    Said said;
    std::set<std::string> keys;
    for (const std::size_t index : side.sessions) {
        for (const auto& [key, value] : side.session(index).record.labels) {
            keys.insert(key);
        }
    }
    for (const std::size_t index : side.sessions) {
        const SessionRecord& record = side.session(index).record;
        for (const std::string& key : keys) {
            said[key].insert(label_of(record, key).value_or(""));
        }
        said["target"].insert(record.target_name);
        said["arch"].insert(record.architecture);
        said["kernel release"].insert(record.host.os_release);
        said["processor"].insert(record.host.cpu_description);
        said["collector version"].insert(record.collector_version);
    }
    return said;
}

const std::set<std::string>& find(const Said& said, const std::string& key) {
    static const std::set<std::string> kNothing{""};
    const auto found = said.find(key);
    return found == said.end() ? kNothing : found->second;
}

std::string named(std::set<std::string> values) {
    if (values.erase("") != 0) {
        values.insert("(not said)");
    }
    return listed(values, kValuesNamedMax);
}

std::string both(const std::string& key, const Said& before, const Said& after) {
    return key + " (" + named(find(before, key)) + " before, " + named(find(after, key)) + " after)";
}

bool is_on_checklist(const std::string& key) {
    return std::find(kRunChecklist.begin(), kRunChecklist.end(), key) != kRunChecklist.end();
}

void warn_of_overlap(const DiffSide& before, const DiffSide& after, std::vector<std::string>& warnings) {
    for (const std::size_t index : before.sessions) {
        const SessionRecord& record = before.session(index).record;
        const auto same = std::find_if(after.sessions.begin(), after.sessions.end(), [&](std::size_t other) {
            const SessionRecord& its = after.session(other).record;
            return its.session == record.session && its.target == record.target;
        });
        if (same == after.sessions.end()) {
            continue;
        }
        const auto first = before.scan->tick_range(index);
        const auto second = after.scan->tick_range(*same);
        if (first.first < second.second && second.first < first.second) {
            warnings.push_back("session " + session_hex(record.session).substr(0, 8) +
                               " is on both sides over the same time: its rows are compared with themselves");
            return;
        }
    }
}

}  // namespace

std::string listed(const std::set<std::string>& texts, std::size_t count_max) {
    std::string list;
    std::size_t count = 0;
    for (const std::string& text : texts) {
        if (count == count_max) {
            return list + " and " + std::to_string(texts.size() - count) + " more";
        }
        list += (count++ == 0 ? "" : ", ") + text;
    }
    return list;
}

void warn_of_settings(const DiffSide& before, const DiffSide& after, const SettingWarnings& settings,
                      std::vector<std::string>& warnings) {
    const Said first = said_by(before);
    const Said second = said_by(after);
    std::set<std::string> keys;
    for (const Said* said : {&first, &second}) {
        for (const auto& [key, values] : *said) {
            if (!is_about_result(key) && !settings.chosen_labels.contains(key)) {
                keys.insert(key);
            }
        }
    }
    std::string others;
    for (const std::string& key : keys) {
        if (find(first, key) == find(second, key)) {
            continue;
        }
        if (is_on_checklist(key)) {
            warnings.push_back("measured differently: " + both(key, first, second) +
                               ": what changed may be that, not the code");
        } else {
            others += (others.empty() ? "" : ", ") + both(key, first, second);
        }
    }
    if (!others.empty()) {
        warnings.push_back("the sides differ in " + others);
    }
    for (const auto& [said, side] : {std::pair{&first, "before"}, std::pair{&second, "after"}}) {
        for (const auto& [key, values] : *said) {
            if (is_on_checklist(key) && values.size() > 1) {
                warnings.push_back(std::string{side} + " mixes runs with " + key + " " + named(values));
            }
        }
    }
    // Runs of one comparison on one machine took turns, so settings that weren't recorded were the same.
    const auto comparison = find(first, "comparison");
    const bool is_in_turns = comparison.size() == 1 && !comparison.contains("") &&
                             comparison == find(second, "comparison") &&
                             find(first, "target") == find(second, "target");
    if (settings.wants_checklist && (!is_in_turns || settings.names_checklist)) {
        const auto is_said = [&](std::string_view key) {
            return !find(first, std::string{key}).contains("") && !find(second, std::string{key}).contains("");
        };
        if (const auto missing = missing_of_checklist(is_said); !missing.empty()) {
            const std::string labels =
                settings.names_checklist
                    ? fmt::format("the labels {} (--label of perfleet import and record sets them)",
                                  fmt::join(missing, ", "))
                    : fmt::format("{} of {} labels that say how (--checklist names them)", missing.size(),
                                  kRunChecklist.size());
            warnings.push_back("whether the sides were measured alike isn't known: not all runs have " + labels);
        }
    }
    for (const DiffSide* side : {&before, &after}) {
        for (const std::size_t index : side->sessions) {
            const SessionRecord& record = side->session(index).record;
            if (const auto status = run_status(*side->scan, index); status && *status != "ok") {
                const bool has_label = label_of(record, "status").has_value();
                warnings.push_back("session " + session_hex(record.session).substr(0, 8) + " is a run that " + *status +
                                   (has_label ? "; {status!=\"" + *status + "\"} leaves it out" : ""));
            }
        }
    }
    warn_of_overlap(before, after, warnings);
}

void warn_of_sampling(const DiffSide& before, const DiffSide& after, const std::string& event,
                      std::vector<std::string>& warnings) {
    const auto ways = [&](const DiffSide& side) {
        std::set<std::string> texts;
        for (const std::size_t index : side.sessions) {
            for (const EventRecord& record : side.session(index).record.events) {
                if (record.name == event) {
                    texts.insert((record.is_frequency ? "" : "every ") + std::to_string(record.period) +
                                 (record.is_frequency ? " Hz" : " events") +
                                 (record.exclude_kernel ? " without kernel" : "") +
                                 (record.exclude_user ? " without user" : "") +
                                 (record.callchain ? " with call chains" : " without call chains"));
                }
            }
        }
        return texts;
    };
    const std::set<std::string> first = ways(before);
    const std::set<std::string> second = ways(after);
    if (first != second) {
        warnings.push_back(event + " was sampled differently: " + listed(first, kValuesNamedMax) + " before, " +
                           listed(second, kValuesNamedMax) + " after");
    }
}

}  // namespace perfleet
