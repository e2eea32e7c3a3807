#include "exporters/perf-data/perf_data_exporter.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "daemon/option/option.h"
#include "exporters/perf-data/features.h"
#include "exporters/perf-data/record_stream.h"
#include "exporters/perf-data/record_writer.h"
#include "exporters/perf-data/stat_records.h"
#include "exporters/rows/event_table.h"
#include "exporters/rows/row_merge.h"
#include "query-engine/service/export_format.h"
#include "query-engine/statistic/counter/counters.h"
#include "query-engine/statistic/session/coverage.h"
#include "query-engine/statistic/session/measure.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

// Samples that the kernel never took: no ring lost them, and perf warns only of lost ones.
bool is_never_taken(std::string_view reason) {
    return reason == count_name(CountName::kLostThrottled) || reason == count_name(CountName::kLostTimerLate);
}

constexpr std::uint64_t kRowsBetweenChecks = 4'096;

constexpr std::uint64_t kMagic = 0x32454c4946524550;  // "PERFILE2"
constexpr std::uint64_t kHeaderSizeBytes = 104;
constexpr std::uint64_t kPipeHeaderSizeBytes = 16;
constexpr std::uint32_t kTargetsMax = 511;

class Export : private MergeVisitor {
public:
    Export(const Scan& scan, const PerfDataOptions& options, ExportSink& sink)
        : scan_{scan},
          options_{options},
          sink_{sink},
          clock_{scan},
          events_{scan, summary_.warnings, EventTable::KernelLogs::kAsTracepoints},
          merge_{scan, events_, clock_},
          writer_{sink, options.is_pipe ? 0 : kHeaderSizeBytes},
          stream_{writer_, events_.events()} {}

    Result<ExportSummary> run() {
        PERFLEET_TRY(check_selection());
        PERFLEET_TRY(look_for_kernel());
        list_ranges();
        if (options_.is_pipe) {
            write_pipe_head();
        } else {
            write_attrs();
        }
        PERFLEET_TRY(merge_.run(*this));
        const auto counted = PERFLEET_TRY(count_events());
        if (stream_.sample_count() == 0 && counted.empty()) {
            summary_.warnings.emplace_back(
                "no samples and no tracepoints are in the selection: the file has events and no rows (perfleet losses "
                "lists what there is)");
        }
        add_ledger();
        stream_.end_round();
        if (stream_.sample_count() == 0) {  // `perf script` would print them among the samples
            write_stat_records(writer_, counted, elapsed_ns());
        }
        if (options_.is_pipe) {
            writer_.flush();
        } else {
            PERFLEET_TRY(write_features());
        }
        if (writer_.error()) {
            return Error{*writer_.error()};
        }
        summary_.sample_count = stream_.sample_count() - reading_count_;
        summary_.first_time = clock_.utc_of_ns(stream_.first_sample_ns());
        summary_.last_time = clock_.utc_of_ns(stream_.last_sample_ns());
        summary_.size_bytes = writer_.offset();
        summary_.warnings.insert(summary_.warnings.end(), stream_.warnings().begin(), stream_.warnings().end());
        warn_of_uncovered_time(scan_, summary_.warnings);
        for (const auto& [unit, amounts] : negative_) {
            amounts.warn_of_negative(unit, summary_.warnings);
        }
        return std::move(summary_);
    }

private:
    Result<Done> check_selection() const {
        if (auto checked = options_.merges_targets ? Result<Done>{Done{}} : check_one_target(scan_); !checked) {
            return Error{checked.error().code, checked.error().message + ", or merge them with --merge-targets"};
        }
        if (events_.events().empty()) {
            return Error{ErrorCode::kNotFound,
                         "export: no samples and no tracepoints are stored for this selection (perfleet sessions lists "
                         "what there is)"};
        }
        return Done{};
    }

    // perf report warns at length of files without a kernel, unless their events exclude it.
    Result<Done> look_for_kernel() {
        if (merge_.epochs().empty()) {
            return Done{};
        }
        const MergedEpoch& first = merge_.epochs().front();
        const auto dictionary = PERFLEET_TRY(scan_.dictionary(first.session_index, first.epoch));
        for (std::size_t number = 0; number < dictionary->image_count(); ++number) {
            const ImageDefinition& image = dictionary->image(ImageNumber{static_cast<std::uint32_t>(number)});
            if ((image.flags & image_flags::kKernel) != 0) {
                return Done{};
            }
        }
        events_.exclude_kernel();
        return Done{};
    }

    // Linux pids stay below kPidsOfTarget, and perf's within 31 bits.
    void list_ranges() {
        constexpr std::uint32_t kPidsOfTarget = 1U << 22U;
        std::map<TargetId, std::uint32_t> numbers;
        for (const ScannedSession& session : scan_.sessions()) {
            const auto number =
                numbers.try_emplace(session.record.target, static_cast<std::uint32_t>(numbers.size())).first->second;
            ranges_.push_back({number % kTargetsMax * kPidsOfTarget, {}});
            if (options_.merges_targets) {
                ranges_.back().name_prefix = session.record.target_name + "/";
            }
        }
        if (numbers.size() == 1) {
            ranges_.assign(ranges_.size(), {});
        }
        if (numbers.size() > kTargetsMax) {
            summary_.warnings.push_back("more than " + std::to_string(kTargetsMax) +
                                        " targets: the process ids of some collide");
        }
    }

    // Writes attrs, and the contents of a file's sections, as records.
    void write_pipe_head() {
        put_u64(kMagic);
        put_u64(kPipeHeaderSizeBytes);
        for (const ExportedEvent& event : events_.events()) {
            const std::string attr = event.attr();
            writer_.begin(perf::RecordType::kHeaderAttr, 0);
            writer_.put_bytes(attr.data(), attr.size());
            writer_.put(event.id);
            writer_.end();
        }
        for (const auto& [feature, bytes] :
             feature_sections(clock_.first().record, events_.events(), events_.groups(), {}, std::nullopt)) {
            if (feature == perf::Feature::kTracingData) {
                write_tracing_data(bytes);
            } else if (bytes.size() <= PerfRecordWriter::kRecordSizeBytesMax - 16) {
                writer_.begin(perf::RecordType::kHeaderFeature, 0);
                writer_.put(static_cast<std::uint64_t>(feature));
                writer_.put_bytes(bytes.data(), bytes.size());
                writer_.end();
            }
        }
        // Names the events even if their feature section is too large for a record.
        for (const ExportedEvent& event : events_.events()) {
            constexpr std::uint32_t kEventUpdate = 78;
            constexpr std::uint64_t kName = 2;
            writer_.begin(static_cast<perf::RecordType>(kEventUpdate), 0);
            writer_.put(kName, event.id);
            writer_.put_name(event.recorded_name());
            writer_.end();
        }
    }

    // Follows a record with its length, and isn't part of that record.
    void write_tracing_data(const std::string& bytes) {
        const perf::RecordHeader header{static_cast<std::uint32_t>(perf::RecordType::kHeaderTracingData), 0,
                                        sizeof(perf::RecordHeader) + sizeof(std::uint32_t)};
        writer_.put_raw({reinterpret_cast<const char*>(&header), sizeof(header)});
        const auto size = static_cast<std::uint32_t>((bytes.size() + 7) / 8 * 8);
        writer_.put_raw({reinterpret_cast<const char*>(&size), sizeof(size)});
        writer_.put_raw(bytes);
        writer_.put_raw(std::string(size - bytes.size(), '\0'));
    }

    // Writes the ids of the events, then their attrs. The header that refers to them comes last.
    void write_attrs() {
        for (const ExportedEvent& event : events_.events()) {
            put_u64(event.id);
        }
        for (const ExportedEvent& event : events_.events()) {
            writer_.put_raw(event.attr());
            put_u64(kHeaderSizeBytes + (event.id - 1) * sizeof(std::uint64_t));
            put_u64(sizeof(std::uint64_t));
        }
        data_first_ = writer_.offset();
    }

    void put_u64(std::uint64_t value) { writer_.put_raw({reinterpret_cast<const char*>(&value), sizeof(value)}); }

    // -- the rows, of RowMerge
    // -----------------------------------------------------------------------------------------

    void begin_epoch(const MergedEpoch& epoch, bool is_new_run) override {
        if (is_new_run) {
            stream_.forget_tasks();
        }
        images_.resize(merge_.epochs().size());
        images_[epoch.index] = stream_.begin_epoch(*epoch.dictionary, epoch.first_ns);
    }
    void end_epoch(const MergedEpoch& epoch) override { images_[epoch.index] = {}; }

    Result<Done> row(const MergedRow& row) override {
        const EpochImages& images = images_[row.epoch.index];
        if (row.event != nullptr && row.event->log) {
            log_row(row);
        } else if (row.event != nullptr && row.columns == nullptr) {
            stream_.counts_row(row, ranges_[row.epoch.session_index]);
        } else if (row.event != nullptr && can_hold(row)) {
            stream_.sample_row(images, row, ranges_[row.epoch.session_index]);
        } else if (row.event == nullptr) {
            stream_.task_row(images, row, ranges_[row.epoch.session_index]);
        }
        if (++row_count_ % kRowsBetweenChecks == 0) {
            share_.set(stream_.size_bytes());
            PERFLEET_TRY(share_.check());
        }
        return writer_.error() ? Result<Done>{Error{*writer_.error()}} : Result<Done>{Done{}};
    }

    // Periods can't be below 0.
    bool can_hold(const MergedRow& row) {
        const std::uint64_t weight = row.columns->weight[row.row];
        if (static_cast<std::int64_t>(weight) >= 0) {
            return true;
        }
        const SessionRecord& session = scan_.sessions()[row.epoch.session_index].record;
        const EventRecord* const event = session.event_at(row.series.event);
        return !has_imported_values(session) || event == nullptr ||
               negative_[event->unit].add(static_cast<std::int64_t>(weight));
    }

    void log_row(const MergedRow& row) {
        const TaskRange& range = ranges_[row.epoch.session_index];
        const std::uint64_t id = row.event->config;
        if (row.event->log->kind != Kind::kCounter) {
            stream_.log_row(row, range, kernel_log_sample(*row.event->log, id, row.rows, row.row));
            return;
        }
        // A reading covers the time since the session's start; within a time range, the first reading is only the base
        // for the next.
        const Reading now{row.rows.integers(ColumnId::kTime)[row.row], row.rows.integers(ColumnId::kValue)[row.row]};
        const auto [at, is_first] = readings_.try_emplace(row.epoch.session_index, now);
        if (is_first && !scan_.selection().from) {
            at->second = {scan_.sessions()[row.epoch.session_index].record.start_point.ticks.value, 0};
        }
        const Reading before = std::exchange(at->second, now);
        if (now.value > before.value && now.ticks > before.ticks) {
            stream_.log_row(row, range, uncovered_time_sample(id, now.value - before.value, now.ticks - before.ticks));
            ++reading_count_;
        }
    }

    // -- what follows the records -------------------------------------------------------------------------------------

    Result<std::vector<CountedEvent>> count_events() {
        std::map<const ExportedEvent*, CountedEvent> counted;
        for (std::size_t index = 0; index < scan_.sessions().size(); ++index) {
            const auto totals = PERFLEET_TRY(counter_totals(scan_, index));
            for (const CounterTotal& total : totals) {
                const ExportedEvent* const event = events_.find(index, total.series.event);
                if (event != nullptr) {
                    const EventRecord* const record = scan_.sessions()[index].record.event_at(total.series.event);
                    CountedEvent& sum = counted[event];
                    sum.event = event;
                    sum.unit = parse_counter_unit(record != nullptr ? record->unit : "");
                    sum.sum.value += total.sum.value;
                    sum.sum.enabled_ns += total.sum.enabled_ns;
                    sum.sum.running_ns += total.sum.running_ns;
                    if (scan_.sessions().size() == 1) {  // a CPU number means another CPU in each session
                        sum.by_cpu = total.by_cpu;
                    }
                }
            }
        }
        std::vector<CountedEvent> all;
        for (const auto& [event, sum] : counted) {  // ordered by number, so that events are side by side
            all.push_back(sum);
        }
        return all;
    }

    // The selected time of all sessions; if an end is unknown, from the first to the last sample.
    [[nodiscard]] std::uint64_t elapsed_ns() const {
        std::uint64_t first = stream_.sample_count() == 0 ? ~std::uint64_t{0} : stream_.first_sample_ns();
        std::uint64_t last = stream_.last_sample_ns();
        for (std::size_t index = 0; index < scan_.sessions().size(); ++index) {
            const ScannedSession& session = scan_.sessions()[index];
            const auto [from, to] = scan_.tick_range(index);
            for (const BatchRecord& batch : session.batches) {
                for (const BatchRecord::Rows& rows : batch.rows) {
                    if (rows.series.kind == Kind::kCounter && rows.row_count != 0) {
                        last = std::max(last, clock_.ns_of(index, std::min(rows.last_ticks, to).value));
                        const Ticks start = std::max(session.record.start_point.ticks, from);
                        first = std::min(first, clock_.ns_of(index, start.value));
                    }
                }
            }
        }
        return last - std::min(first, last);
    }

    void add_ledger() {
        constexpr std::array kKinds{Kind::kSample, Kind::kTracepoint, Kind::kDetailedSample, Kind::kKernelEntry};
        for (std::size_t index = 0; index < scan_.sessions().size(); ++index) {
            summary_.ledger.add(scan_.ledger(index, kKinds, summary_.warnings));
        }
        std::vector<std::uint64_t> lost(events_.events().size());
        std::uint64_t never_taken = 0;
        std::vector<std::string> known_warnings;
        for (std::size_t index = 0; index < scan_.sessions().size(); ++index) {
            for (const Series series : scan_.ledger_series(index)) {
                const ExportedEvent* const event = events_.find(index, series);
                if (event != nullptr) {
                    for (const auto& [reason, rows] : scan_.ledger(index, series, known_warnings).lost) {
                        lost[event->id - 1] += rows;
                        never_taken += is_never_taken(reason) ? rows : 0;
                    }
                }
            }
        }
        const std::uint64_t total = std::accumulate(lost.begin(), lost.end(), std::uint64_t{0}) - never_taken;
        std::uint64_t unreported = total - std::min(total, stream_.lost_count());
        for (const ExportedEvent& event : events_.events()) {
            if (const std::uint64_t count = lost[event.id - 1]; count > 0) {
                const std::uint64_t unreported_of_event = std::min(count, unreported);
                unreported -= unreported_of_event;
                stream_.lost_samples(event, count, unreported_of_event, stream_.last_sample_ns());
            }
        }
    }

    Result<Done> write_features() {
        const std::uint64_t table_first = writer_.offset();
        ExportedTimes times;
        times.first_ns = stream_.first_sample_ns();
        times.last_ns = stream_.last_sample_ns();
        times.clock_point = {Ticks{times.first_ns}, clock_.utc_of_ns(times.first_ns), 0};
        const auto build_ids = stream_.build_ids();
        const auto sections =
            feature_sections(clock_.first().record, events_.events(), events_.groups(), build_ids, times);

        std::array<std::uint64_t, 4> bits{};
        std::uint64_t offset = table_first + sections.size() * 16;
        for (const auto& [feature, bytes] : sections) {
            const auto bit = static_cast<std::size_t>(feature);
            bits[bit / 64] |= std::uint64_t{1} << (bit % 64);
            put_u64(offset);
            put_u64(bytes.size());
            offset += bytes.size();
        }
        for (const auto& [feature, bytes] : sections) {
            writer_.put_raw(bytes);
        }
        writer_.flush();
        if (writer_.error()) {
            return Error{*writer_.error()};
        }
        return write_header(table_first - data_first_, bits);
    }

    Result<Done> write_header(std::uint64_t data_size_bytes, const std::array<std::uint64_t, 4>& bits) {
        const std::uint64_t event_count = events_.events().size();
        const std::uint64_t entry_size_bytes = events_.events().front().attr().size() + 16;  // with its ids' place
        const std::uint64_t attrs_first = kHeaderSizeBytes + event_count * sizeof(std::uint64_t);
        std::array<std::uint64_t, kHeaderSizeBytes / 8> header{
            kMagic,      kHeaderSizeBytes, entry_size_bytes, attrs_first, event_count * entry_size_bytes,
            data_first_, data_size_bytes,
            0,  // event types: of no use since perf 3
            0,           bits[0],          bits[1],          bits[2],     bits[3],
        };
        return sink_.write_at(0, std::as_bytes(std::span{header}));
    }

    const Scan& scan_;
    const PerfDataOptions& options_;
    ExportSink& sink_;
    ExportSummary summary_;
    FileClock clock_;
    EventTable events_;
    RowMerge merge_;
    PerfRecordWriter writer_;
    RecordStream stream_;
    std::vector<EpochImages> images_;  // by epoch
    std::vector<TaskRange> ranges_;    // by session
    struct Reading {
        std::uint64_t ticks = 0;
        std::uint64_t value = 0;
    };
    std::map<std::size_t, Reading> readings_;       // of uncovered time, by session
    std::map<std::string, ShownAmounts> negative_;  // that are left out, by unit
    std::uint64_t reading_count_ = 0;               // written as samples
    MemoryShare share_{scan_.memory()};
    std::uint64_t row_count_ = 0;
    std::uint64_t data_first_ = 0;
};

const OptionTable<PerfDataOptions>& perf_data_options() {
    static const OptionTable<PerfDataOptions> kTable =
        OptionTable<PerfDataOptions>{}
            .flag("pipe", &PerfDataOptions::is_pipe,
                  "perf.data: as perf writes it to a pipe, for `perf report -i -` (with -o - always)")
            .flag(
                "merge-targets", &PerfDataOptions::merges_targets,
                "perf.data: several targets in one file; pids get a range of each target, commands its name in front");
    return kTable;
}

}  // namespace

Result<ExportSummary> export_perf_data(const Scan& scan, const PerfDataOptions& options, ExportSink& sink) {
    return Export{scan, options, sink}.run();
}

ExportFormat perf_data_format() {
    const auto write = [](const ExportInput& input, Symbolizer&, const PerfDataOptions& options,
                          ExportSink& sink) -> Result<QueryEnd> {
        auto summary = PERFLEET_TRY(export_perf_data(input.scan, options, sink));
        return QueryEnd{summary.last_time, counted_noun(summary.sample_count, "sample"), std::move(summary.ledger),
                        std::move(summary.warnings)};
    };
    return with_options({.name = "perf.data", .summary = "for perf", .is_sequential = false, .keeps_old = true},
                        perf_data_options(), write);
}

}  // namespace perfleet
