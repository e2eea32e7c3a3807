#include "gateway/compaction/store_compaction.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "schemas/host/host_clock.h"

namespace perfleet {
namespace {

using Clock = std::chrono::steady_clock;

// Added to the process's niceness: about half the share of the serving threads. Not less, because the writer waits for
// this thread a moment in each step.
constexpr int kCompactionNiceness = 3;

// Longest pause after a step: a long step has mostly waited for the disk.
constexpr std::chrono::milliseconds kPauseMax{200};

class CompactionThread final : public StoreCompaction {
public:
    CompactionThread(StoreMaintenance& store, LogSink log, std::uint64_t look_again_ns)
        : store_{store}, log_{std::move(log)}, look_again_{look_again_ns}, thread_{[this] { run(); }} {}
    ~CompactionThread() override {
        {
            const std::lock_guard lock{mutex_};
            is_stopping_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    CompactionCounts counts() const override {
        const std::lock_guard lock{mutex_};
        CompactionCounts counts = counts_;
        counts.partitions_waiting_now = store_.partitions_to_compact();
        return counts;
    }

private:
    void run() {
        // Linux applies it to this thread alone.
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kCompactionNiceness);
        bool has_failed = false;
        for (bool goes_on = true; goes_on; goes_on = pause(look_again_)) {
            auto step_began = Clock::now();
            const auto compacted = store_.compact(utc_now(), [&](const CompactionStep& step) {
                count(step);
                const auto took = Clock::now() - step_began;
                const bool more = pause(std::min<Clock::duration>(took, kPauseMax));
                step_began = Clock::now();
                return more ? Visit::kContinue : Visit::kStop;
            });
            if (!compacted.ok()) {
                {
                    const std::lock_guard lock{mutex_};
                    ++counts_.failures;
                }
                if (!has_failed && log_) {
                    // Errors of the store are logged by the thread that stores; this one only waits until they are
                    // over.
                    log_({LogLevel::kInfo, "compaction",
                          "compaction failed, and is tried again: " + compacted.error().message});
                }
            }
            has_failed = !compacted.ok();
        }
    }

    // False if the thread must stop.
    [[nodiscard]] bool pause(Clock::duration duration) {
        std::unique_lock lock{mutex_};
        return !changed_.wait_for(lock, duration, [this] { return is_stopping_; });
    }

    void count(const CompactionStep& step) {
        const std::lock_guard lock{mutex_};
        counts_.blocks_in += step.blocks_in;
        counts_.blocks_out += step.blocks_in == 0 ? 0 : 1;
        counts_.batches += step.batches_in;
        counts_.size_bytes_in += step.size_bytes_in;
        counts_.size_bytes_out += step.size_bytes_out;
        counts_.summaries += step.summaries;
        counts_.summary_rows += step.summary_rows;
        counts_.summary_bytes += step.summary_bytes;
        counts_.dictionaries += step.dictionaries;
        counts_.stack_maps += step.stack_maps;
        counts_.map_bytes += step.map_bytes;
        counts_.epochs_left += step.epochs_left;
    }

    StoreMaintenance& store_;
    LogSink log_;
    std::chrono::nanoseconds look_again_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool is_stopping_ = false;
    CompactionCounts counts_;
    std::thread thread_;  // last member: it uses those above
};

}  // namespace

std::unique_ptr<StoreCompaction> StoreCompaction::start(StoreMaintenance& store, LogSink log,
                                                        std::uint64_t look_again_ns) {
    return std::make_unique<CompactionThread>(store, std::move(log), look_again_ns);
}

}  // namespace perfleet
