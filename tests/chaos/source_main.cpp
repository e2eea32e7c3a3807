// chaos_source: a collector whose rows are known. Sealer, ring, delivery and driver are those of perfleet-collector;
// only the source is made up: three series, whose rows' values are 1, 2, 3, … Everything is written down beside it
// (source_log.h).
#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/linux/host/target_identity.h"
#include "target-collector/linux/link/clock_relation.h"
#include "target-collector/linux/link/gateway_link.h"
#include "target-collector/linux/link/orphan_delivery.h"
#include "target-collector/linux/link/wire_thread.h"
#include "target-collector/message/batch_builder.h"
#include "target-collector/message/hello.h"
#include "target-collector/message/live_counts.h"
#include "target-collector/message/sealer.h"
#include "target-collector/metrics/collector_counts.h"
#include "target-collector/spool/spool_folder.h"
#include "tests/chaos/source_log.h"
#include "tests/chaos/watched_link.h"

namespace perfleet::chaos {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kCounters{Kind::kCounter, EventNumber{1}};
constexpr Series kStrings{Kind::kString, kNoEvent};
constexpr std::array kAllSeries{kSamples, kCounters, kStrings};
constexpr std::size_t kBytesSizeBytes = 1U << 20;
constexpr std::chrono::milliseconds kStoppedTimeout{500};  // after SIGTERM, for the last acknowledgements

std::atomic<bool> is_stopped{false};

struct Arguments {
    std::vector<std::string> gateways;
    std::string logs;   // folder
    std::string spool;  // folder; empty: in memory
    std::string capture;
    std::string target = "chaos";
    std::string session;  // hex; empty: random
    std::string key;      // files; empty: none
    std::string gateway_key;
    std::uint64_t seed = 0;
    std::uint64_t rows = 100'000;
    std::uint64_t duration_ms = 1'000;  // in which they are produced
    std::uint32_t batch_rows = 500;
    std::uint64_t batch_age_ms = 50;
    std::size_t ring_size_bytes = 1U << 20;
    std::size_t spool_size_bytes = 8U << 20;
    std::uint64_t resend_ms = 300;
    double exit_wait_s = 60;
};

class Source {
public:
    explicit Source(const Arguments& arguments)
        : arguments_{arguments},
          ring_memory_(std::bit_ceil(arguments.ring_size_bytes)),
          losses_memory_(kLossReportRingSizeBytes),
          spool_memory_(arguments.spool_size_bytes),
          values_(BatchBuilder::values_count(limits::kBatchRowsMax, BatchBuilder::kIntegerColumnsMax,
                                             limits::kBatchSeriesMax)),
          bytes_(kBytesSizeBytes),
          batches_{ring_memory_},
          losses_{losses_memory_},
          builder_{values_, bytes_, limits::kBatchRowsMax},
          session_{session_id(arguments.session)},
          log_{source_log_path(arguments.logs, session_)},
          sealer_{{session_, arguments.batch_rows, arguments.batch_age_ms * 1'000'000, &live_counts_},
                  builder_,
                  counts_,
                  batches_,
                  losses_},
          random_{arguments.seed} {}

    int run() {
        const TargetId target = target_id_of(arguments_.target);
        log_.session(session_, target);
        auto keys = load_connect_keys(arguments_.key, arguments_.gateway_key);
        if (!keys.ok()) {
            std::fprintf(stderr, "chaos_source: %s\n", keys.error().message.c_str());
            return 1;
        }
        if (keys->has_value()) {
            keys_.push_back(std::move(**keys));
        }
        auto link = GatewayLink::connect({arguments_.gateways, {}, keys_});
        if (!link.ok()) {
            std::fprintf(stderr, "chaos_source: %s\n", link.error().message.c_str());
            return 1;
        }
        describe(target);
        WireThread::Options options;
        options.delivery.session = session_;
        options.delivery.hello = hello_;
        options.delivery.spool = spool_memory_;
        options.delivery.resend_after_ns = arguments_.resend_ms * 1'000'000;
        options.exit_wait_ns = static_cast<std::uint64_t>(arguments_.exit_wait_s * 1e9);
        if (const auto opened = open_spool(options); !opened.ok()) {
            std::fprintf(stderr, "chaos_source: %s\n", opened.error().message.c_str());
            return 1;
        }
        WireThread wire{options,
                        std::make_unique<WatchedLink>(std::move(*link), arguments_.logs, arguments_.capture),
                        batches_,
                        losses_,
                        clock_,
                        counters_,
                        [](const auto&) {}};
        wire.start();
        if (orphans_ != nullptr) {
            orphans_->start();
        }
        std::printf("ready\n");
        std::fflush(stdout);
        make_rows(wire);
        while (!sealer_.finish(observe_clocks())) {
            account();
            wire.wake();
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        account();
        if (is_stopped) {
            std::this_thread::sleep_for(kStoppedTimeout);
            wire.give_up();
        }
        wire.finish();
        if (orphans_ != nullptr) {
            orphans_->finish(is_stopped ? 0 : options.exit_wait_ns);
        }
        const WireThread::Outcome& outcome = wire.join();
        const bool is_all_delivered = orphans_ == nullptr || orphans_->join().sessions_left == 0;
        if (spool_file_ != nullptr && outcome.is_finished) {
            PERFLEET_ASSERT(spool_file_->remove().ok());
        }
        log_.end(outcome.session_refused ? "refused" : outcome.has_given_up ? "gave_up" : "finished");
        return (outcome.is_finished || outcome.session_refused) && is_all_delivered ? 0 : 1;
    }

private:
    static SessionId session_id(const std::string& hex) {
        if (hex.size() != 32) {
            return new_session_id();
        }
        return {std::stoull(hex.substr(0, 16), nullptr, 16), std::stoull(hex.substr(16), nullptr, 16)};
    }

    // As the Linux collector does it.
    Result<Done> open_spool(WireThread::Options& options) {
        if (arguments_.spool.empty()) {
            return Done{};
        }
        const auto log = [](std::string_view text) {
            std::fprintf(stderr, "chaos_source: %.*s\n", static_cast<int>(text.size()), text.data());
        };
        spool_folder_ = PERFLEET_TRY(SpoolFolder::open(arguments_.spool, arguments_.spool_size_bytes, log));
        if (!spool_folder_->orphans().empty()) {
            auto link = PERFLEET_TRY(GatewayLink::connect({arguments_.gateways, {}, keys_}));
            orphans_ = std::make_unique<OrphanDelivery>(
                spool_folder_->orphans(),
                std::make_unique<WatchedLink>(std::move(link), arguments_.logs, std::string{}), log);
        }
        spool_file_ = PERFLEET_TRY(spool_folder_->create(session_, hello_));
        live_counts_.attach(spool_file_->counts());
        live_counts_.set_last_seen(observe_clocks());
        journal_ = std::make_unique<DeliveryJournal>(spool_file_->journal(), 1);
        options.delivery.spool = spool_file_->records();
        options.delivery.journal = journal_.get();
        options.keeps_rest = true;
        return Done{};
    }

    void describe(TargetId target) {
        HelloDescription hello;
        hello.session = session_;
        hello.target = target;
        hello.target_name = arguments_.target;
        hello.architecture = "x86_64";
        std::array<EventDescription, 2> events;
        events[0] = {.name = "made-samples", .kind = Kind::kSample, .period = 1, .unit = "rows"};
        events[1] = {.name = "made-counters", .kind = Kind::kSample, .period = 1, .unit = "rows"};
        hello.events = events;
        hello.clock = {"monotonic", static_cast<std::uint64_t>(kNsPerSecond), CLOCK_MONOTONIC};
        hello.start_point = observe_clocks();
        hello.collector_version = "chaos";
        hello_.resize(hello_size_bytes_max(hello));
        const auto size = write_hello(hello, hello_);
        PERFLEET_ASSERT(size.ok());
        hello_.resize(*size);
    }

    // The same rows for the same seed; only their times depend on the machine.
    void make_rows(WireThread& wire) {
        const Ticks start = monotonic_now();
        const std::uint64_t duration_ns = arguments_.duration_ms * 1'000'000;
        std::uint64_t made = 0;
        while (made < arguments_.rows && !is_stopped) {
            const Ticks now = monotonic_now();
            const UtcNs utc = clock_.now(now);
            sealer_.tick(now, utc);
            account();
            if (sealer_.epoch_is_over()) {
                sealer_.begin_epoch(now, utc);
                account();  // what was sealed belongs to the epoch before
                epoch_ = sealer_.epoch();
                epoch_bucket_ = bucket_of(utc);
                make(kStrings, 1 + random_() % 5, now);
            }
            const std::uint64_t elapsed_ns = std::min(now.value - start.value, duration_ns);
            const auto due =
                static_cast<std::uint64_t>(static_cast<double>(arguments_.rows) * static_cast<double>(elapsed_ns) /
                                           static_cast<double>(duration_ns));
            while (made < due) {
                const std::uint64_t count = std::min<std::uint64_t>(due - made, 1 + random_() % 200);
                make(random_() % 4 == 0 ? kCounters : kSamples, count, now);
                made += count;
            }
            wire.wake();
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
    }

    void make(Series series, std::uint64_t count, Ticks now) {
        RowRange& waiting = waiting_[series];
        const std::uint64_t first = waiting.last + 1;
        log_.produced(series, {first, first + count - 1});
        for (std::uint64_t value = first; value < first + count; ++value) {
            waiting.last = value;
            append(series, value, now);
            account();
        }
    }

    void append(Series series, std::uint64_t value, Ticks now) {
        if (series == kSamples) {
            const std::array<std::uint64_t, 5> row{value % 8, 1, 1, 0, value};
            sealer_.append({series, now, row});
        } else if (series == kCounters) {
            const std::array<std::uint64_t, 6> row{value % 8, 1, 1, value, 1, 1};
            sealer_.append({series, now, row});
        } else {
            const std::string name = "name " + std::to_string(value);
            const std::array<std::uint64_t, 2> row{value, name.size()};
            const std::array<std::span<const std::byte>, 1> bytes{std::as_bytes(std::span{name})};
            sealer_.append({series, now, row, bytes});
        }
    }

    // Whatever has left the builder since the last time was sealed, or lost at the ring.
    void account() {
        RowRanges gone;
        for (const Series series : kAllSeries) {
            RowRange& waiting = waiting_[series];
            const std::uint64_t begin = std::exchange(waiting.first, waiting.last - builder_.row_count(series));
            if (waiting.first > begin) {
                gone[series] = {begin + 1, waiting.first};
            }
        }
        const bool was_sealed = sealer_.last_sealed() != last_sealed_;
        if (was_sealed) {
            last_sealed_ = sealer_.last_sealed();
            log_.sealed(last_sealed_, epoch_, epoch_bucket_, gone);
        } else if (!gone.empty()) {
            log_.ring_full(gone);
        }
    }

    const Arguments& arguments_;
    std::vector<ConnectKeys> keys_;
    std::vector<std::byte> ring_memory_;
    std::vector<std::byte> losses_memory_;
    std::vector<std::byte> spool_memory_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    SpscRing batches_;
    SpscRing losses_;
    BatchBuilder builder_;
    SessionCounts counts_;
    SessionId session_;
    SourceLogWriter log_;
    LiveCounts live_counts_;
    Sealer sealer_;
    BucketClock clock_;
    CollectorCounters counters_;
    std::vector<std::byte> hello_;
    std::unique_ptr<SpoolFolder> spool_folder_;
    std::unique_ptr<SpoolFile> spool_file_;
    std::unique_ptr<DeliveryJournal> journal_;
    std::unique_ptr<OrphanDelivery> orphans_;
    std::mt19937_64 random_;
    std::map<Series, RowRange> waiting_;  // rows (first, last] in the builder
    Seq last_sealed_;
    EpochNumber epoch_;
    BucketNumber epoch_bucket_;
};

int run(int argc, char** argv) {
    Arguments arguments;
    CLI::App app{"A collector whose rows are known, for tests/chaos/run", "chaos_source"};
    app.add_option("--gateway", arguments.gateways)->required()->delimiter(',');
    app.add_option("--logs", arguments.logs)->required();
    app.add_option("--spool", arguments.spool);
    app.add_option("--capture", arguments.capture);
    app.add_option("--target", arguments.target);
    app.add_option("--session", arguments.session);
    app.add_option("--key", arguments.key);
    app.add_option("--gateway-key", arguments.gateway_key);
    app.add_option("--seed", arguments.seed);
    app.add_option("--rows", arguments.rows);
    app.add_option("--duration-ms", arguments.duration_ms)->check(CLI::PositiveNumber);
    app.add_option("--batch-rows", arguments.batch_rows)->check(CLI::Range(1U, limits::kBatchRowsMax));
    app.add_option("--batch-age-ms", arguments.batch_age_ms);
    app.add_option("--ring-size", arguments.ring_size_bytes);
    app.add_option("--spool-size", arguments.spool_size_bytes);
    app.add_option("--resend-ms", arguments.resend_ms);
    app.add_option("--exit-wait", arguments.exit_wait_s);
    CLI11_PARSE(app, argc, argv);
    std::signal(SIGTERM, [](int) { is_stopped = true; });
    return std::make_unique<Source>(arguments)->run();
}

}  // namespace
}  // namespace perfleet::chaos

int main(int argc, char** argv) { return perfleet::chaos::run(argc, argv); }
