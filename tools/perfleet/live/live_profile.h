// A profile that is shown while it is recorded: a collector on a thread of its own, its rows in memory (live_store.h),
// and queries over them.
//
// One thread uses it, except where noted. Nothing is written to a disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "daemon/option/option.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/linux/collector.h"
#include "tools/perfleet/live/live_store.h"

namespace perfleet {

class LiveProfile {
public:
    // The longest time until a row is in the store.
    static constexpr std::int64_t kDelayNs = 800'000'000;

    // Opens the events and runs the command. Signals whose handlers are set come to the calling thread. `log`: any
    // thread. Errors: Collector::open().
    [[nodiscard]] static Result<std::unique_ptr<LiveProfile>> start(CollectorOptions options,
                                                                    std::uint64_t memory_size_bytes, SymbolPaths paths,
                                                                    LogSink log);
    LiveProfile(const LiveProfile&) = delete;
    LiveProfile& operator=(const LiveProfile&) = delete;
    ~LiveProfile();

    // Readable when the collection has ended.
    [[nodiscard]] int end_fd() const { return ended_.fd(); }
    // Ends the collection, and the command; the second call stops waiting.
    void stop() { collector_->stop(); }
    // Waits for the end, and returns the collector's summary. May be called again.
    [[nodiscard]] const Result<CollectorSummary>& finish();
    [[nodiscard]] bool has_ended() const { return !thread_.joinable(); }
    // The time up to which all rows are in the store.
    [[nodiscard]] UtcNs complete_until() const;

    struct Range {
        UtcNs from;
        UtcNs until;
    };
    // A query over the rows of this time. Errors: those of run_query().
    [[nodiscard]] Result<Answer> ask(const std::string& command, OptionValues values, const Range& range);

    [[nodiscard]] const LiveStore& store() const { return store_; }
    [[nodiscard]] UtcNs began() const { return began_; }

private:
    LiveProfile(std::uint64_t memory_size_bytes, SymbolPaths paths);

    SymbolPaths paths_;              // with the symbolizer of all queries
    std::uint64_t image_count_ = 0;  // of the store, when it was made
    LiveStore store_;
    std::unique_ptr<Collector> collector_;
    WakeEvent ended_;
    std::optional<Result<CollectorSummary>> summary_;  // of the thread until it has ended
    UtcNs began_;
    std::thread thread_;
};

}  // namespace perfleet
