// PerfSource: switches from BPF unwinding to frame pointers if the kernel drops too many BPF samples.
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <unordered_map>
#include <utility>
#include <vector>

#include "target-collector/source/linux/perf_source.h"

namespace perfleet {
namespace {

constexpr double kDroppedShareMax = 0.1;
constexpr int kRoundsMax = 8;  // rounds to find threads that were started meanwhile

// Waits until a drain() takes all records written so far.
void wait_for_records() {
    const timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
}

}  // namespace

void PerfSource::reconsider_unwinder() {
    if (!options_.may_follow_frame_pointers) {
        return;
    }
    const double share = balance_.take_dropped_share();
    if (share <= kDroppedShareMax) {
        return;
    }
    options_.may_follow_frame_pointers = false;
    const auto done = follow_frame_pointers();
    if (done.ok()) {
        // Samples from before the switch still count as dropped.
        held_readings_ = events_->read_all();
        wait_for_records();
        drain();
        drain();
        drain_count_ = 0;
        balance_.count(held_readings_, held_readings_, *sink_);
        balance_.forget_unwinder();
    }
    std::array<char, 256> text{};
    std::snprintf(text.data(), text.size(),
                  "call chains follow frame pointers from now on (fp)%s: the kernel dropped %.0f %% of the samples, as "
                  "another BPF program ran on their CPU; --call-graph bpf or dwarf chooses otherwise",
                  done.ok() ? "" : " was not possible", 100 * share);
    log_(done.ok() ? std::string{text.data()} : std::string{text.data()} + "; " + done.error().message);
}

// A thread that starts meanwhile inherits the new events only if its parent already had them.
Result<Done> PerfSource::follow_frame_pointers() {
    std::unordered_map<std::uint32_t, std::uint64_t> opened;  // by thread: when its new events were opened
    std::vector<SeenFork> forks;
    for (int round = 0; !events_->is_system_wide() && round < kRoundsMax; ++round) {
        std::vector<std::uint32_t> tids;
        const auto wanted = events_->tids();
        processes_.each_thread([&](std::uint32_t tid, const Thread&) {
            const bool is_wanted = wanted.empty() || std::find(wanted.begin(), wanted.end(), tid) != wanted.end();
            if (is_wanted && !opened.contains(tid)) {
                tids.push_back(tid);
            }
        });
        if (tids.empty()) {
            break;
        }
        const std::uint64_t since_ns = now().value;
        PERFLEET_TRY(events_->open_without_unwinder(tids));
        for (const std::uint32_t tid : tids) {
            opened[tid] = since_ns;
        }
        wait_for_records();
        seen_forks_ = &forks;
        drain();
        seen_forks_ = nullptr;
        for (const SeenFork& fork : std::exchange(forks, {})) {
            const auto parent = opened.find(fork.parent_tid);
            if (parent != opened.end() && fork.time >= parent->second) {
                opened[fork.tid] = fork.time;
            }
        }
    }
    return events_->drop_unwinder(now().value);
}

}  // namespace perfleet
