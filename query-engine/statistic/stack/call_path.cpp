#include "query-engine/statistic/stack/call_path.h"

#include <algorithm>
#include <span>

namespace perfleet {

std::string call_path_text(const std::vector<std::string>& path) {
    std::string text;
    for (const std::string& name : path) {
        text += &name == path.data() ? "" : ";";
        for (const char c : name) {
            text += c == ';' || c == '\\' ? "\\" : "";
            text += c;
        }
    }
    return text;
}

std::vector<std::string> parse_call_path(const std::string& text) {
    std::vector<std::string> path{""};
    for (auto at = text.begin(); at != text.end(); ++at) {
        if (*at == ';') {
            path.emplace_back();
            continue;
        }
        if (*at == '\\' && at + 1 != text.end()) {
            ++at;
        }
        path.back() += *at;
    }
    return path;
}

EpochStackCounts CallPath::counts_below(const Measure& measure, std::size_t part, const EpochStackCounts& epoch) {
    names_.name_epoch(*epoch.dictionary, epoch.counts);
    for (auto& known : known_) {
        known.assign(epoch.dictionary->stack_count(), Known::kNot);
    }
    EpochStackCounts below{epoch.session_index, epoch.epoch, part, epoch.total, epoch.dictionary, epoch.runners, {}};
    below.total.sum = {};
    for (const StackCount& count : epoch.counts) {
        const std::string root = root_name(measure, below, epoch.runners[count.runner_index]);
        if ((root.empty() || root == path_.front()) && takes(*epoch.dictionary, count.stack, root.empty())) {
            below.counts.push_back(count);
            below.total.sum += count.sum;
        }
    }
    share_.set(known_.size() * known_[0].size() + below.counts.size() * sizeof(StackCount));
    return below;
}

bool CallPath::takes(const EpochDictionary& dictionary, StackNumber stack, bool has_no_root) {
    if (stack.value >= known_[0].size()) {
        return is_below(dictionary, stack, has_no_root);
    }
    Known& known = known_[has_no_root ? 1 : 0][stack.value];
    if (known == Known::kNot) {
        known = is_below(dictionary, stack, has_no_root) ? Known::kTaken : Known::kLeftOut;
    }
    return known == Known::kTaken;
}

bool CallPath::is_below(const EpochDictionary& dictionary, StackNumber stack, bool has_no_root) {
    const auto functions = std::span{path_}.subspan(has_no_root ? 0 : 1);
    chain_of(dictionary, stack, chain_);
    return chain_.size() >= functions.size() &&
           std::equal(functions.begin(), functions.end(), chain_.rbegin(),
                      [&](const std::string& name, StackNumber node) {
                          return names_.symbols().text(names_.name_of(node).symbol) == name;
                      });
}

}  // namespace perfleet
