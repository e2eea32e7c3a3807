#include "target-collector/linux/collector.h"

#include <malloc.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/host_clock.h"
#include "schemas/host/wake_event.h"
#include "schemas/peers/key_file.h"
#include "schemas/wire/protocol.h"
#include "target-collector/linux/command.h"
#include "target-collector/linux/host/cpu_budget.h"
#include "target-collector/linux/host/packed_symbols.h"
#include "target-collector/linux/host/progress.h"
#include "target-collector/linux/host/target_identity.h"
#include "target-collector/linux/link/clock_relation.h"
#include "target-collector/linux/link/control_executor.h"
#include "target-collector/linux/link/disk_spool.h"
#include "target-collector/linux/link/fallback_link.h"
#include "target-collector/linux/link/gateway_link.h"
#include "target-collector/linux/link/sink_link.h"
#include "target-collector/linux/link/wire_thread.h"
#include "target-collector/linux/option_check.h"
#include "target-collector/linux/sealer_sink.h"
#include "target-collector/linux/session_description.h"
#include "target-collector/linux/session_summary.h"
#include "target-collector/linux/source_choice.h"
#include "target-collector/linux/symbols/confined_reader.h"
#include "target-collector/linux/symbols/symbol_keeper.h"
#include "target-collector/message/batch_builder.h"
#include "target-collector/message/image_chunk.h"
#include "target-collector/message/sealer.h"
#include "target-collector/ring/spsc_ring.h"
#include "target-collector/source/linux/perf_source.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kCountersEveryNs = 1'000'000'000;
constexpr std::uint64_t kCommandTimeoutNs = 2'000'000'000;  // after SIGTERM
constexpr std::uint64_t kOwnSignalNs = 500'000'000;         // for the command to end by the user's Ctrl-C itself
constexpr std::uint64_t kFinishTimeoutNs = 5'000'000'000;   // until the wire thread frees space in the ring
constexpr int kOwnMappingSizeBytes = 512 << 10;
constexpr std::size_t kImageMemorySizeBytes = limits::kImageChunkSizeBytes + kImageChunkOverheadBytes;

std::uint64_t nanoseconds(double seconds) {
    constexpr double kSecondsMax = 1e9;
    return static_cast<std::uint64_t>(std::min(seconds, kSecondsMax) * static_cast<double>(kNsPerSecond));
}

std::uint64_t process_cpu_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

// Uninitialised memory, so that pages are allocated at first use.
struct Memory {
    explicit Memory(std::size_t size) : bytes{new std::byte[size]}, size_bytes{size} {}
    [[nodiscard]] std::span<std::byte> span() const { return {bytes.get(), size_bytes}; }

    std::unique_ptr<std::byte[]> bytes;
    std::size_t size_bytes;
};

class LinuxCollector final : public Collector {
public:
    LinuxCollector(CollectorOptions options, LogSink report)
        : options_{std::move(options)},
          log_{std::move(report)},
          ring_memory_{std::bit_ceil(options_.collector_ring_size_bytes)},
          losses_memory_{kLossReportRingSizeBytes},
          spool_memory_{options_.spool_folder.empty() ? spool_size_bytes_of(options_) : kImageMemorySizeBytes},
          values_(BatchBuilder::values_count(limits::kBatchRowsMax, BatchBuilder::kIntegerColumnsMax,
                                             limits::kBatchSeriesMax)),
          bytes_memory_{limits::kSeriesBytesMax},
          batches_{ring_memory_.span()},
          losses_{losses_memory_.span()},
          builder_{values_, bytes_memory_.span(), limits::kBatchRowsMax},
          session_{new_session_id(), {}, {}, observe_clocks()},
          sealer_{{session_.session, limits::kBatchRowsMax, options_.batch_age_ns_max, &live_counts_},
                  builder_,
                  counts_,
                  batches_,
                  losses_},
          sink_{sealer_, bucket_clock_, ends_epoch_},
          clock_watch_{session_.start_point},
          epoll_fd_{::epoll_create1(EPOLL_CLOEXEC)} {}

    Result<Done> prepare();

    [[nodiscard]] SessionId session() const override { return session_.session; }
    [[nodiscard]] CollectorCounts counts() const override;
    [[nodiscard]] std::string peer() const override { return wire_->peer(); }
    [[nodiscard]] Result<CollectorSummary> run() override;
    void stop() override;
    void end_epoch() override { ends_epoch_ = true; }

private:
    // Both threads call it.
    void report(const LogEvent& event) {
        const std::lock_guard lock{log_mutex_};
        log_(event);
    }
    [[nodiscard]] GatewayLink::Peer gateway() const { return {options_.gateways, options_.gateway_name, keys_}; }
    Result<Done> open_driver();
    Result<Done> open_spool();
    Result<Done> open_source();
    Result<Done> open_wire();
    bool watch(int fd) const;
    void collect(Ticks end);
    [[nodiscard]] bool is_over(Ticks now, Ticks end);
    void wake_wire();
    void end_command();
    void keep_budget(std::uint64_t now_ns);
    [[nodiscard]] std::uint64_t reader_cpu_ns() const { return image_reader_ != nullptr ? image_reader_->cpu_ns() : 0; }
    void publish_rows();
    // Returns whether unacknowledged batches are in the fallback file.
    [[nodiscard]] bool finish_file(bool is_whole);

    CollectorOptions options_;
    LogSink log_;
    std::mutex log_mutex_;
    Memory ring_memory_;
    Memory losses_memory_;
    Memory spool_memory_;  // with a spool on disk only for image chunks
    LiveCounts live_counts_;
    std::vector<std::uint64_t> values_;
    Memory bytes_memory_;
    SpscRing batches_;
    SpscRing losses_;
    BatchBuilder builder_;
    SessionCounts counts_;
    CollectorCounters counters_;
    BucketClock bucket_clock_;
    std::vector<ConnectKeys> keys_;
    SessionDescription session_;
    Sealer sealer_;
    std::atomic<bool> ends_epoch_{false};
    SealerSink sink_;
    ClockWatch clock_watch_;
    std::unique_ptr<WaitingDriver> driver_;  // until it moves to the wire thread
    std::unique_ptr<Command> command_;
    std::unique_ptr<PerfSource> source_;
    std::vector<std::byte> hello_;
    SymbolKeeper symbols_;
    std::shared_ptr<ConfinedReader> image_reader_;  // null: files are read in this process
    std::unique_ptr<DiskSpool> disk_spool_;         // null: batches wait in memory
    ControlExecutor requests_;
    std::unique_ptr<WireThread> wire_;
    std::atomic<int> stop_count_{0};
    WakeEvent stop_event_;
    FileDescriptor epoll_fd_;
    Seq last_woken_for_;
    std::optional<Ticks> delay_end_;  // when sampling starts; empty: it has, or waits for a control request
    std::optional<CpuBudget> budget_;
    std::uint64_t counters_read_ns_ = 0;
    std::uint64_t counts_published_ns_ = 0;
    int command_exit_status_ = 0;
    std::uint64_t run_status_ = 0;
    std::uint64_t cpu_before_ns_ = process_cpu_ns();
};

Result<Done> LinuxCollector::prepare() {
    if (!stop_event_ || !epoll_fd_) {
        return error_from_errno(errno, "can't make an event descriptor");
    }
    keys_ = PERFLEET_TRY(options_.load_keys());
    const std::string default_name = keys_.empty() ? host_name() : keys_.front().own.name;
    session_.target_name = options_.target_name.empty() ? default_name : options_.target_name;
    session_.target = target_id_of(session_.target_name);
    PERFLEET_TRY(open_driver());
    PERFLEET_TRY(open_spool());
    PERFLEET_TRY(open_source());
    return open_wire();
}

Result<Done> LinuxCollector::open_spool() {
    if (options_.spool_folder.empty()) {
        return Done{};
    }
    auto spool = DiskSpool::open(options_.spool_folder, spool_size_bytes_of(options_),
                                 [this](std::string_view text) { report(text); });
    if (!spool.ok()) {
        return std::move(spool).error();
    }
    disk_spool_ = std::move(*spool);
    if (options_.spool_sync_s) {
        disk_spool_->sync_every(nanoseconds(*options_.spool_sync_s));
    }
    if (disk_spool_->has_left()) {
        auto link = PERFLEET_TRY(GatewayLink::connect(gateway()));
        disk_spool_->deliver_orphans(std::move(link));
    }
    return Done{};
}

Result<Done> LinuxCollector::open_driver() {
    if (!options_.output_file.empty()) {
        auto link = SinkLink::to_file(options_.output_file, options_.is_output_forced);
        if (!link.ok()) {
            return Error{link.error().code, "--output " + link.error().message};
        }
        driver_ = std::move(*link);
        return Done{};
    }
    if (options_.take_frame) {
        driver_ = SinkLink::to_function(options_.take_frame);
        return Done{};
    }
    driver_ = PERFLEET_TRY(GatewayLink::connect(gateway()));
    if (!options_.unacknowledged_file.empty()) {
        driver_ = std::make_unique<FallbackLink>(std::move(driver_), options_.unacknowledged_file);
    }
    return Done{};
}

Result<Done> LinuxCollector::open_source() {
    SourceChoice choice = PERFLEET_TRY(choose_source(options_, session_.session));
    PerfSourceOptions& source = choice.options;
    image_reader_ = std::move(choice.confined_reader);
    symbols_.keep_in(std::move(choice.cache));
    if (options_.keeps_symbols && !options_.reader_program.empty()) {
        source.helper_pid =
            static_cast<std::uint32_t>(symbols_.extract_in(options_.reader_program, source.events.all_cpus));
    }
    if (options_.keeps_symbols) {
        source.on_sampled_file = [this](const MappedFile& file, const ImageContentId& content) {
            symbols_.note(file, content);
        };
    }
    if (!options_.command.empty()) {
        command_ = PERFLEET_TRY(Command::start(options_.command, choice.environment));
        // If other options choose what is recorded, the command only determines the duration.
        if (!records_running_programs(options_)) {
            source.events.pids = {static_cast<std::uint32_t>(command_->pid())};
            source.events.with_descendants = false;
            source.events.enable_on_exec = true;
        }
    }
    const auto report_text = [this](std::string_view text) { report(text); };
    PERFLEET_TRY(choose_chains(options_, source, report_text));
    source_ = PERFLEET_TRY(PerfSource::open(std::move(source), report_text));
    if (source_->kernel().addresses_hidden() && source_->sees_kernel()) {
        report("kernel symbols are hidden (kernel.kptr_restrict): kernel frames will have no names");
    }
    return Done{};
}

Result<Done> LinuxCollector::open_wire() {
    source_->kernel().each_content(
        [this](const ImageContentId& content, std::string module) { symbols_.add_kernel(content, std::move(module)); });
    hello_ = PERFLEET_TRY(describe_session(session_, options_, *source_));
    WireThread::Options options;
    options.delivery.session = session_.session;
    options.delivery.hello = hello_;
    options.delivery.spool = spool_memory_.span();
    options.delivery.late_images = &symbols_;
    options.delivery.images_wait_ns = nanoseconds(options_.exit_wait_s) / 2;
    if (!options_.is_symbol_rate_limited || !options_.output_file.empty()) {
        options.delivery.image_bytes_per_second = 0;
    }
    if (disk_spool_ != nullptr) {
        options.delivery.image_memory = spool_memory_.span();
        if (auto done = disk_spool_->prepare(session_.start_point, hello_, live_counts_, options.delivery);
            !done.ok()) {
            return done;
        }
        options.keeps_rest = true;
    }
    options.exit_wait_ns = nanoseconds(options_.exit_wait_s);
    options.reports_connection = options_.reports_progress && options_.output_file.empty();
    options.requests = &requests_;
    options.delivery.takes_requests = true;
    wire_ = std::make_unique<WireThread>(options, std::move(driver_), batches_, losses_, bucket_clock_, counters_,
                                         [this](const LogEvent& event) { report(event); });
    return Done{};
}

bool LinuxCollector::watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return ::epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Result<CollectorSummary> LinuxCollector::run() {
    if (!watch(source_->wake_fd()) || !watch(stop_event_.fd()) || !watch(requests_.fd()) ||
        (command_ != nullptr && command_->end_fd() >= 0 && !watch(command_->end_fd()))) {
        return error_from_errno(errno, "can't wait for the end of the collection");
    }
    wire_->start();
    symbols_.start([this] { wire_->wake(); });
    if (!options_.output_file.empty()) {
        symbols_.raise_priority();  // no gateway has any of them: all are read, and the file is complete with the last
    }
    if (disk_spool_ != nullptr) {
        disk_spool_->start();
    }
    const Ticks start = monotonic_now();
    sealer_.tick(start, bucket_clock_.now(start));
    sink_.begin_epoch(start);
    source_->begin(sink_);
    if (options_.cpu_budget_percent) {
        source_->measure_bpf();
        budget_.emplace(*options_.cpu_budget_percent, start.value, process_cpu_ns() + reader_cpu_ns());
    }
    ::malloc_trim(0);                                   // reading /proc needed much more memory than is kept
    ::mallopt(M_MMAP_THRESHOLD, kOwnMappingSizeBytes);  // else glibc raises it, and keeps freed symbols
    Ticks end{~0ULL};
    if (options_.duration_s) {
        end = Ticks{monotonic_now().value + nanoseconds(*options_.duration_s)};
    }
    Result<Done> ran = command_ != nullptr ? command_->run() : Result<Done>{Done{}};
    if (options_.delay_ms && *options_.delay_ms >= 0) {
        delay_end_ = Ticks{monotonic_now().value + (static_cast<std::uint64_t>(*options_.delay_ms) * 1'000'000)};
    }
    if (ran.ok()) {
        collect(end);
    }
    requests_.close();
    symbols_.raise_priority();
    source_->finish();
    for (std::string& text : source_->missing_samples()) {
        report({LogLevel::kWarning, "samples", std::move(text)});
    }
    end_command();
    if (options_.benchmark) {
        const bool is_whole = source_->probe_row_count() == options_.benchmark->row_count;
        run_status_ = command_exit_status_ != 0 ? static_cast<std::uint64_t>(command_exit_status_)
                      : is_whole                ? 0
                                                : protocol::kRunIncomplete;
        source_->append_run_end(run_status_);
    }
    const ClockPoint end_point = observe_clocks();
    if (disk_spool_ != nullptr) {
        disk_spool_->end(end_point);
    }
    const std::uint64_t timeout_ends = end_point.ticks.value + kFinishTimeoutNs;
    while (!sealer_.finish(end_point) && monotonic_now().value < timeout_ends) {
        wire_->wake();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    publish_rows();
    if (!ran.ok()) {
        wire_->give_up();
        if (disk_spool_ != nullptr) {
            disk_spool_->give_up();
        }
    }
    wire_->finish();
    if (disk_spool_ != nullptr) {
        disk_spool_->finish(nanoseconds(options_.exit_wait_s));
    }
    const WireThread::Outcome& outcome = wire_->join();
    symbols_.finish();
    if (const std::string left_out = symbols_.left_out().text(); !left_out.empty()) {
        report({LogLevel::kWarning, "end", left_out});
    }
    const OrphanDelivery::Outcome left =
        disk_spool_ != nullptr ? disk_spool_->join(outcome.is_finished) : OrphanDelivery::Outcome{};
    const bool is_rest_in_file = finish_file(outcome.is_in_file && ran.ok());
    if (!ran.ok()) {
        return std::move(ran).error();
    }
    CollectorSummary summary = rows_of_session(counts_.entries(), losses_, outcome.rows_given_up);
    summary.session = session_.session;
    summary.target = session_.target;
    summary.command_exit_status = command_exit_status_;
    summary.batches_sealed = sealer_.last_sealed().value;
    summary.batches_dropped = outcome.batches_dropped;
    summary.everything_acknowledged = outcome.is_finished && !outcome.has_given_up;
    summary.is_rest_kept = disk_spool_ != nullptr;
    summary.batches_kept = disk_spool_ != nullptr || outcome.is_in_file ? outcome.batches_kept : 0;
    summary.session_refused = outcome.session_refused;
    summary.is_rest_in_file = is_rest_in_file;
    summary.earlier_sessions = left.sessions_left;
    summary.damaged_spool_files = disk_spool_ != nullptr ? disk_spool_->damaged_count() : 0;
    summary.run_status = run_status_;
    summary.own_cpu_ns = process_cpu_ns() - cpu_before_ns_ + symbols_.reader_cpu_ns() + reader_cpu_ns();
    return summary;
}

void LinuxCollector::collect(Ticks end) {
    counters_read_ns_ = monotonic_now().value;
    Progress progress{counters_read_ns_};
    for (;;) {
        const Ticks now = monotonic_now();
        sealer_.tick(now, bucket_clock_.now(now));
        if (disk_spool_ != nullptr) {
            disk_spool_->tick(now);
        }
        if (const auto point = clock_watch_.observe()) {
            sealer_.add_clock_point(*point);
        }
        if (const auto order = requests_.take()) {
            requests_.answer(source_->take_request(*order));
            wire_->wake();
        }
        if (delay_end_ && now >= *delay_end_) {
            (void)source_->take_request({protocol::ControlCommand::kStart, kNoEvent, 0});
            delay_end_.reset();
        }
        source_->drain();
        if (now.value - counters_read_ns_ >= kCountersEveryNs) {
            counters_read_ns_ = now.value;
            source_->read_counters();
            keep_budget(now.value);
        }
        if (now.value - counts_published_ns_ >= CollectorCounters::kPublishEveryNs) {
            counts_published_ns_ = now.value;
            publish_rows();
        }
        if (options_.reports_progress && progress.is_log_due(now.value)) {
            report({LogLevel::kNotice, "progress", progress.for_log(counts(), peer(), now.value)});
        }
        wake_wire();
        if (is_over(now, end)) {
            return;
        }
        const Ticks next = std::min(end, delay_end_.value_or(end));
        const std::uint64_t left_ms = now < next ? ((next.value - now.value) / 1'000'000) + 1 : 0;
        std::array<epoll_event, 16> events{};
        const int count = ::epoll_wait(epoll_fd_.get(), events.data(), static_cast<int>(events.size()),
                                       static_cast<int>(std::min(left_ms, source_->wait_ms_max())));
        (void)count;  // all rings are read, whatever woke the thread
    }
}

void LinuxCollector::keep_budget(std::uint64_t now_ns) {
    const auto scale =
        budget_ ? budget_->update(now_ns, process_cpu_ns() + reader_cpu_ns() + source_->bpf_run_ns()) : std::nullopt;
    if (!scale) {
        return;
    }
    source_->scale_frequencies(*scale);
    std::array<char, 160> text{};
    std::snprintf(
        text.data(), text.size(),
        "CPU budget of %.2f %%: used %.2f %% of a core, so that %.1f %% of the frequency is sampled from now on",
        *options_.cpu_budget_percent, budget_->used_share() * 100, *scale * 100);
    report({*scale < counters_.frequency_scale() ? LogLevel::kWarning : LogLevel::kNotice, "budget", text.data()});
    counters_.publish_frequency_scale(*scale);
}

void LinuxCollector::publish_rows() {
    std::uint64_t open_count = 0;
    builder_.each_series(
        [&](Series series, std::uint32_t row_count) { open_count += is_definition(series.kind) ? 0 : row_count; });
    counters_.publish_rows(counts_.entries(), sealer_.last_sealed(), open_count);
}

CollectorCounts LinuxCollector::counts() const {
    CollectorCounts counts = counters_.read();
    counts.spool_size_bytes = spool_size_bytes_of(options_);
    counts.ring_used_bytes = batches_.used_bytes();
    counts.ring_size_bytes = batches_.memory_size_bytes();
    counts.acknowledged_after = wire_->acknowledged_after();
    if (disk_spool_ != nullptr) {
        counts.orphans = disk_spool_->orphan_counts();
        counts.spool_syncs = disk_spool_->sync_counts();
    }
    return counts;
}

bool LinuxCollector::is_over(Ticks now, Ticks end) {
    if (stop_count_.load(std::memory_order_relaxed) > 0 || now >= end) {
        return true;
    }
    if (command_ != nullptr) {
        if (command_->exit_status()) {
            return true;
        }
    } else if (wire_->session_refused()) {
        return true;  // the rows would never be delivered
    }
    return command_ == nullptr && !options_.all_cpus && source_->all_processes_ended();
}

void LinuxCollector::wake_wire() {
    if (sealer_.last_sealed() != last_woken_for_) {
        last_woken_for_ = sealer_.last_sealed();
        wire_->wake();
    }
}

void LinuxCollector::end_command() {
    if (command_ == nullptr) {
        return;
    }
    const auto wait_for_end = [this](std::uint64_t wait_ns) {
        const std::uint64_t wait_ends = monotonic_now().value + wait_ns;
        while (!command_->exit_status() && monotonic_now().value < wait_ends) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return command_->exit_status();
    };
    const bool is_stopped = stop_count_.load(std::memory_order_relaxed) > 0;
    if (const auto status = wait_for_end(is_stopped ? kOwnSignalNs : 0)) {
        command_exit_status_ = *status;
        return;
    }
    command_->terminate();
    (void)wait_for_end(kCommandTimeoutNs);
    if (!command_->exit_status()) {
        report("the command (process " + std::to_string(command_->pid()) +
               ") continues after SIGTERM; it is left running");
    }
}

void LinuxCollector::stop() {
    const bool is_second = stop_count_.fetch_add(1) > 0;
    stop_event_.signal();
    if (is_second) {
        wire_->give_up();
        if (disk_spool_ != nullptr) {
            disk_spool_->give_up();
        }
    }
}

bool LinuxCollector::finish_file(bool is_whole) {
    if (options_.unacknowledged_file.empty()) {
        return false;
    }
    const auto finished = FallbackLink::finish(options_.unacknowledged_file, is_whole);
    if (!finished.ok()) {
        report({LogLevel::kError, "end", finished.error().message});
    }
    return finished.ok() && is_whole;
}

}  // namespace

Result<std::unique_ptr<Collector>> Collector::open(CollectorOptions options, LogSink report) {
    PERFLEET_TRY(check_options(options));
    auto collector = std::make_unique<LinuxCollector>(std::move(options), std::move(report));
    PERFLEET_TRY(collector->prepare());
    return std::unique_ptr<Collector>(std::move(collector));
}

}  // namespace perfleet
