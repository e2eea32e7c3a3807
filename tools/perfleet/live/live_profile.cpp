#include "tools/perfleet/live/live_profile.h"

#include <signal.h>

#include <cerrno>
#include <utility>

#include "query-engine/select/selection.h"
#include "query-engine/statistic/command.h"
#include "schemas/host/host_clock.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kBatchAgeNs = 200'000'000;

}  // namespace

LiveProfile::LiveProfile(std::uint64_t memory_size_bytes, SymbolPaths paths)
    : paths_{std::move(paths)}, store_{memory_size_bytes, [this] { collector_->end_epoch(); }} {}

Result<std::unique_ptr<LiveProfile>> LiveProfile::start(CollectorOptions options, std::uint64_t memory_size_bytes,
                                                        SymbolPaths paths, LogSink log) {
    std::unique_ptr<LiveProfile> live{new LiveProfile{memory_size_bytes, std::move(paths)}};
    if (!live->ended_) {
        return error_from_errno(errno, "eventfd");
    }
    options.take_frame = [&store = live->store_](std::span<const std::byte> frame) { return store.take(frame); };
    options.batch_age_ns_max = kBatchAgeNs;
    options.cache_folder = "none";
    options.is_symbol_rate_limited = false;
    options.keeps_symbols = false;  // files are read where they are; the kernel's symbols come in any case
    options.reader_program = "/proc/self/exe";
    live->collector_ = PERFLEET_TRY(Collector::open(std::move(options), std::move(log)));
    live->began_ = utc_now();
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    live->thread_ = std::thread{[&own = *live] {
        own.summary_.emplace(own.collector_->run());
        own.ended_.signal();
    }};
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return live;
}

LiveProfile::~LiveProfile() {
    if (thread_.joinable()) {
        collector_->stop();
        thread_.join();
    }
}

const Result<CollectorSummary>& LiveProfile::finish() {
    if (thread_.joinable()) {
        thread_.join();
    }
    return *summary_;
}

UtcNs LiveProfile::complete_until() const { return {utc_now().value - (has_ended() ? 0 : kDelayNs)}; }

Result<Answer> LiveProfile::ask(const std::string& command, OptionValues values, const Range& range) {
    // It remembers of which images there are no symbols.
    if (const std::uint64_t count = store_.image_count(); paths_.symbolizer == nullptr || count != image_count_) {
        image_count_ = count;
        paths_.symbolizer.reset();
        paths_.symbolizer = std::make_shared<Symbolizer>(&store_.reader(), paths_);
    }
    values["from"] = format_time(range.from);
    values["until"] = format_time(range.until);
    values["threads"] = std::uint64_t{1};  // a period has few rows
    return run_query(command, values, store_.reader(), paths_, utc_now());
}

}  // namespace perfleet
