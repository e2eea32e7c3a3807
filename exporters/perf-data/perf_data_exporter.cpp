#include "exporters/perf-data/perf_data_exporter.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>

#include "exporters/perf-data/event_table.h"
#include "exporters/perf-data/features.h"
#include "exporters/perf-data/record_stream.h"
#include "exporters/perf-data/record_writer.h"
#include "exporters/perf-data/series_feed.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kHeaderSizeBytes = 104;
constexpr std::uint64_t kAttrEntrySizeBytes = kAttrSizeBytes + 16;  // with the place of its ids

// Ticks of a session → ns on the file's clock, which is that of the session that began first.
class FileClock {
public:
    explicit FileClock(const Scan& scan) : scan_{scan} {
        for (std::size_t index = 1; index < scan.sessions().size(); ++index) {
            if (scan.sessions()[index].record.start_point.utc_ns < first().record.start_point.utc_ns) {
                first_index_ = index;
            }
        }
    }

    [[nodiscard]] const ScannedSession& first() const { return scan_.sessions()[first_index_]; }

    [[nodiscard]] std::uint64_t ns_of(std::size_t session_index, std::uint64_t ticks) const {
        if (session_index != first_index_) {
            ticks = first().clock.ticks_of(scan_.sessions()[session_index].clock.utc_of(Ticks{ticks})).value;
        }
        const std::uint64_t per_second = first().record.ticks_per_second;
        if (per_second == kNsPerSecond || per_second == 0) {
            return ticks;
        }
        using Wide = unsigned __int128;
        return static_cast<std::uint64_t>(Wide{ticks} * static_cast<std::uint64_t>(kNsPerSecond) / per_second);
    }

    [[nodiscard]] UtcNs utc_of_ns(std::uint64_t ns) const {
        const std::uint64_t per_second = first().record.ticks_per_second;
        if (per_second == kNsPerSecond || per_second == 0) {
            return first().clock.utc_of(Ticks{ns});
        }
        using Wide = unsigned __int128;
        return first().clock.utc_of(
            Ticks{static_cast<std::uint64_t>(Wide{ns} * per_second / static_cast<std::uint64_t>(kNsPerSecond))});
    }

private:
    const Scan& scan_;
    std::size_t first_index_ = 0;
};

// One epoch of one session, while its rows are merged.
struct Unit {
    std::size_t session_index = 0;
    EpochNumber epoch;
    std::uint64_t first_ns = 0;
    std::vector<Series> series;  // that have rows in it

    std::shared_ptr<const EpochDictionary> dictionary;
    RecordStream::EpochImages images;
    std::size_t feed_count = 0;  // still running
};

// A series that is being merged: the row that it stands at.
struct Source {
    Source(const Scan& scan, Unit& its_unit, Series its_series, const ExportedEvent* its_event, std::size_t its_rank)
        : unit{&its_unit},
          event{its_event},
          rank{its_rank},
          feed{std::make_unique<SeriesFeed>(scan, its_unit.session_index, its_unit.epoch, its_series)} {}

    Unit* unit;
    const ExportedEvent* event;  // nullptr: task rows
    std::size_t rank;            // decides between rows of one time
    std::unique_ptr<SeriesFeed> feed;
    const DecodedRows* rows = nullptr;
    std::span<const std::uint64_t> times;
    std::optional<RecordStream::SampleColumns> columns;
    std::vector<std::uint32_t> order;  // of the block's rows by time; empty: as they stand
    std::size_t position = 0;          // in that order
    std::size_t row = 0;
    std::uint64_t now_ns = 0;

    // To the first row of a block. Samples stand by cpu and are taken in time order, those of one time as they stand;
    // the order of task rows has a meaning of its own.
    void begin_block(const DecodedRows& block) {
        rows = &block;
        times = block.integers(ColumnId::kTime);
        order.clear();
        if (event != nullptr && !std::is_sorted(times.begin(), times.end())) {
            order.resize(times.size());
            std::iota(order.begin(), order.end(), 0U);
            std::stable_sort(order.begin(), order.end(),
                             [&](std::uint32_t a, std::uint32_t b) { return times[a] < times[b]; });
        }
        go_to(0);
    }
    // False: there is none.
    bool next_in_block() {
        if (rows == nullptr || position + 1 == times.size()) {
            return false;
        }
        go_to(position + 1);
        return true;
    }

private:
    void go_to(std::size_t new_position) {
        position = new_position;
        row = order.empty() ? position : order[position];
    }
};

class Export {
public:
    Export(const Scan& scan, ExportSink& sink)
        : scan_{scan},
          sink_{sink},
          clock_{scan},
          events_{scan, summary_.warnings},
          writer_{sink, kHeaderSizeBytes},
          stream_{writer_, 1} {}

    Result<ExportSummary> run() {
        if (auto usable = check_selection(); !usable) {
            return std::move(usable).error();
        }
        list_units();
        if (auto known = look_for_kernel(); !known) {
            return std::move(known).error();
        }
        write_attrs();
        if (auto merged = merge(); !merged) {
            return std::move(merged).error();
        }
        if (stream_.sample_count() == 0) {
            return Error{ErrorCode::kNotFound,
                         "export: no samples and no tracepoints are stored for this selection (perfleet sessions lists "
                         "what there is)"};
        }
        add_ledger();
        stream_.end_round();
        if (auto written = write_features(); !written) {
            return std::move(written).error();
        }
        summary_.sample_count = stream_.sample_count();
        summary_.first_time = clock_.utc_of_ns(stream_.first_sample_ns());
        summary_.last_time = clock_.utc_of_ns(stream_.last_sample_ns());
        summary_.size_bytes = writer_.offset();
        summary_.warnings.insert(summary_.warnings.end(), stream_.warnings().begin(), stream_.warnings().end());
        return std::move(summary_);
    }

private:
    Result<Done> check_selection() const {
        std::set<TargetId> targets;
        std::string names;
        for (const ScannedSession& session : scan_.sessions()) {
            if (targets.insert(session.record.target).second && targets.size() <= 8) {
                names += (names.empty() ? "" : ", ") + session.record.target_name;
            }
        }
        if (targets.size() > 1) {
            return Error{ErrorCode::kUsage, "export: the selection holds " + std::to_string(targets.size()) +
                                                " targets (" + names + (targets.size() > 8 ? ", …" : "") +
                                                "), whose process ids collide; name one with --select "
                                                "'{target=\"NAME\"}'"};
        }
        if (events_.events().empty()) {
            return Error{ErrorCode::kNotFound,
                         "export: no samples and no tracepoints are stored for this selection (perfleet sessions lists "
                         "what there is)"};
        }
        return Done{};
    }

    void list_units() {
        for (std::size_t index = 0; index < scan_.sessions().size(); ++index) {
            const ScannedSession& session = scan_.sessions()[index];
            const auto [first, last] = scan_.tick_range(index);
            for (const EpochNumber epoch : session.epochs) {
                Unit unit;
                unit.session_index = index;
                unit.epoch = epoch;
                std::set<Series> series;
                std::uint64_t first_ticks = ~0ULL;
                bool has_samples = false;
                for (const BatchRecord& batch : session.batches) {
                    if (batch.epoch != epoch) {
                        continue;
                    }
                    for (const BatchRecord::Rows& rows : batch.rows) {
                        const bool is_task = rows.series.kind == Kind::kTask;
                        if (rows.row_count == 0 || (!is_task && events_.find(index, rows.series) == nullptr)) {
                            continue;
                        }
                        const bool overlaps = rows.first_ticks < last && rows.last_ticks >= first;
                        if (is_task || overlaps) {
                            series.insert(rows.series);
                            first_ticks = std::min(first_ticks, rows.first_ticks.value);
                        }
                        has_samples = has_samples || (!is_task && overlaps);
                    }
                }
                if (has_samples) {
                    unit.first_ns = clock_.ns_of(index, first_ticks);
                    unit.series.assign(series.begin(), series.end());
                    units_.push_back(std::move(unit));
                }
            }
        }
        std::stable_sort(units_.begin(), units_.end(),
                         [](const Unit& a, const Unit& b) { return a.first_ns < b.first_ns; });
    }

    // Of a file without a kernel perf report complains at length, unless its events say that they leave the kernel out.
    Result<Done> look_for_kernel() {
        if (units_.empty()) {
            return Done{};
        }
        const auto dictionary = scan_.dictionary(units_.front().session_index, units_.front().epoch);
        if (!dictionary) {
            return Error{dictionary.error()};
        }
        for (std::size_t number = 0; number < (*dictionary)->image_count(); ++number) {
            const ImageDefinition& image = (*dictionary)->image(ImageNumber{static_cast<std::uint32_t>(number)});
            if ((image.flags & image_flags::kKernel) != 0) {
                return Done{};
            }
        }
        events_.exclude_kernel();
        return Done{};
    }

    // The ids of the events, then their attrs. The header that points to them comes last.
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

    // -- the merge ----------------------------------------------------------------------------------------------------

    static bool is_before(const Source& a, const Source& b) {
        return std::tie(a.now_ns, a.rank) < std::tie(b.now_ns, b.rank);
    }
    static bool is_later(const std::unique_ptr<Source>& a, const std::unique_ptr<Source>& b) {
        return is_before(*b, *a);
    }

    Result<Done> merge() {
        std::size_t next_unit = 0;
        while (next_unit < units_.size() || !heap_.empty()) {
            if (next_unit < units_.size() && (heap_.empty() || units_[next_unit].first_ns <= heap_.front()->now_ns)) {
                if (auto begun = begin_unit(units_[next_unit], next_unit); !begun) {
                    return begun;
                }
                ++next_unit;
                continue;
            }
            std::pop_heap(heap_.begin(), heap_.end(), is_later);
            std::unique_ptr<Source> source = std::move(heap_.back());
            heap_.pop_back();
            auto alive = drain(*source, next_unit < units_.size() ? &units_[next_unit] : nullptr);
            if (!alive) {
                return std::move(alive).error();
            }
            if (*alive) {
                heap_.push_back(std::move(source));
                std::push_heap(heap_.begin(), heap_.end(), is_later);
            } else if (--source->unit->feed_count == 0) {
                source->unit->dictionary = nullptr;
                source->unit->images = {};
            }
            if (writer_.error()) {
                return Error{*writer_.error()};
            }
        }
        return Done{};
    }

    Result<Done> begin_unit(Unit& unit, std::size_t unit_index) {
        if (heap_.empty() && unit_index > 0 && units_[unit_index - 1].session_index != unit.session_index) {
            stream_.forget_tasks();
        }
        auto dictionary = scan_.dictionary(unit.session_index, unit.epoch);
        if (!dictionary) {
            return std::move(dictionary).error();
        }
        unit.dictionary = *std::move(dictionary);
        unit.images = stream_.begin_epoch(*unit.dictionary, unit.first_ns);
        // Tasks first: of rows at one time they give meaning to the others.
        std::vector<Series> order = unit.series;
        std::stable_partition(order.begin(), order.end(), [](Series series) { return series.kind == Kind::kTask; });
        for (const Series series : order) {
            const bool is_task = series.kind == Kind::kTask;
            auto source = std::make_unique<Source>(
                scan_, unit, series, is_task ? nullptr : events_.find(unit.session_index, series), rank_count_++);
            auto alive = advance(*source);
            if (alive && *alive && is_task) {
                alive = take_presence(*source);
            }
            if (!alive) {
                return std::move(alive).error();
            }
            if (*alive) {
                ++unit.feed_count;
                heap_.push_back(std::move(source));
                std::push_heap(heap_.begin(), heap_.end(), is_later);
            }
        }
        return Done{};
    }

    // Writes the source's rows up to the first that another source, or the next unit, has something before. False at
    // its end, and after the end of the time range.
    Result<bool> drain(Source& source, const Unit* next_unit) {
        const Ticks last = scan_.tick_range(source.unit->session_index).second;
        do {
            if (!heap_.empty() && is_before(*heap_.front(), source)) {
                return true;
            }
            if (Ticks{source.times[source.row]} >= last) {
                return false;
            }
            write_row(source);
            auto alive = advance(source);
            if (!alive || !*alive) {
                return alive;
            }
        } while (next_unit == nullptr || source.now_ns < next_unit->first_ns);
        return true;
    }

    // To the next row; within the time range for samples.
    Result<bool> advance(Source& source) {
        const auto [first, last] = scan_.tick_range(source.unit->session_index);
        for (;;) {
            if (!source.next_in_block()) {
                const DecodedRows* const block = source.feed->next();
                if (block == nullptr) {
                    if (source.feed->error()) {
                        return Error{*source.feed->error()};
                    }
                    return false;
                }
                source.begin_block(*block);
                if (source.event != nullptr) {
                    source.columns.emplace(*source.rows, source.event->raw);
                }
            }
            const Ticks ticks{source.times[source.row]};
            if (source.event == nullptr || (ticks >= first && ticks < last)) {
                source.now_ns = clock_.ns_of(source.unit->session_index, ticks.value);
                return true;
            }
        }
    }

    // The tasks and mappings that an epoch begins with were there before its first sample.
    Result<bool> take_presence(Source& source) {
        for (;;) {
            const auto op = static_cast<TaskOp>(source.rows->integers(ColumnId::kTaskOp)[source.row]);
            if (op != TaskOp::kPresent && op != TaskOp::kMap) {
                return true;
            }
            source.now_ns = source.unit->first_ns;
            write_row(source);
            auto alive = advance(source);
            if (!alive || !*alive) {
                return alive;
            }
        }
    }

    void write_row(Source& source) {
        if (source.event != nullptr) {
            stream_.sample_row(source.unit->images, *source.event, *source.columns, source.row, source.now_ns);
            return;
        }
        const auto [first, last] = scan_.tick_range(source.unit->session_index);
        const Ticks ticks{source.times[source.row]};
        stream_.task_row(source.unit->images, *source.rows, source.row, source.now_ns, ticks >= first && ticks < last);
    }

    // -- what stands behind the records -------------------------------------------------------------------------------

    void add_ledger() {
        constexpr std::array kKinds{Kind::kSample, Kind::kTracepoint};
        for (std::size_t index = 0; index < scan_.sessions().size(); ++index) {
            summary_.ledger.add(scan_.ledger(index, kKinds, summary_.warnings));
        }
        std::uint64_t lost = 0;
        for (const auto& [reason, rows] : summary_.ledger.lost) {
            lost += rows;
        }
        if (lost > stream_.lost_count()) {
            stream_.lost_samples(events_.events().front(), lost - stream_.lost_count(), stream_.last_sample_ns());
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
        const std::uint64_t attrs_first = kHeaderSizeBytes + event_count * sizeof(std::uint64_t);
        std::array<std::uint64_t, kHeaderSizeBytes / 8> header{
            0x32454c4946524550,  // "PERFILE2"
            kHeaderSizeBytes,
            kAttrEntrySizeBytes,
            attrs_first,
            event_count * kAttrEntrySizeBytes,
            data_first_,
            data_size_bytes,
            0,  // event types: of no use since perf 3
            0,
            bits[0],
            bits[1],
            bits[2],
            bits[3],
        };
        return sink_.write_at(0, std::as_bytes(std::span{header}));
    }

    const Scan& scan_;
    ExportSink& sink_;
    ExportSummary summary_;
    FileClock clock_;
    EventTable events_;
    PerfRecordWriter writer_;
    RecordStream stream_;
    std::vector<Unit> units_;
    std::vector<std::unique_ptr<Source>> heap_;
    std::size_t rank_count_ = 0;
    std::uint64_t data_first_ = 0;
};

}  // namespace

Result<ExportSummary> export_perf_data(const Scan& scan, ExportSink& sink) { return Export{scan, sink}.run(); }

}  // namespace perfleet
