#include "exporters/rows/row_merge.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace perfleet {

// A series that is being merged, at its current row.
struct RowMerge::Source {
    Source(const Scan& scan, MergedEpoch& its_epoch, Series its_series, const ExportedEvent* its_event,
           std::size_t its_rank)
        : epoch{&its_epoch},
          series{its_series},
          event{its_event},
          rank{its_rank},
          range{scan.tick_range(its_epoch.session_index)},
          blocks{scan, its_epoch.session_index, {its_epoch.epoch}, its_series, {}} {}

    MergedEpoch* epoch;
    Series series;
    const ExportedEvent* event;  // nullptr: task rows
    std::size_t rank;            // orders rows of the same time
    TickRange range;             // the selected range; rows that stay valid are given whole
    RowCursor blocks;
    const DecodedRows* rows = nullptr;
    std::span<const std::uint64_t> times;
    std::optional<SampleColumns> columns;
    std::optional<DetailColumns> details;
    std::vector<std::uint32_t> order;  // the block's rows by time; empty: stored order
    std::size_t position = 0;          // in that order
    std::size_t row = 0;
    std::uint64_t now_ns = 0;

    // Goes to the first row of a block. Samples are stored by cpu and merged by time, equal times in stored order; the
    // order of task rows must not change.
    void begin_block(const DecodedRows& block) {
        rows = &block;
        times = block.integers(ColumnId::kTime);
        order.clear();
        if (event != nullptr && !std::is_sorted(times.begin(), times.end())) {
            order_by_time();
        }
        go_to(0);
    }
    // False: there is no next row.
    bool next_in_block() {
        if (rows == nullptr || position + 1 == times.size()) {
            return false;
        }
        go_to(position + 1);
        return true;
    }

private:
    // Merges the rows of each cpu, pairs of neighbours at a time; most are in order already.
    void order_by_time() {
        order.resize(times.size());
        std::iota(order.begin(), order.end(), 0U);
        std::vector<std::ptrdiff_t> bounds{0};
        for (std::size_t i = 1; i < times.size(); ++i) {
            if (times[i] < times[i - 1]) {
                bounds.push_back(static_cast<std::ptrdiff_t>(i));
            }
        }
        bounds.push_back(static_cast<std::ptrdiff_t>(times.size()));
        while (bounds.size() > 2) {
            std::vector<std::ptrdiff_t> merged{0};
            for (std::size_t i = 2; i < bounds.size(); i += 2) {
                std::inplace_merge(order.begin() + bounds[i - 2], order.begin() + bounds[i - 1],
                                   order.begin() + bounds[i],
                                   [&](std::uint32_t a, std::uint32_t b) { return times[a] < times[b]; });
                merged.push_back(bounds[i]);
            }
            if (bounds.size() % 2 == 0) {
                merged.push_back(bounds.back());
            }
            bounds = std::move(merged);
        }
    }

    void go_to(std::size_t new_position) {
        position = new_position;
        row = order.empty() ? position : order[position];
    }
};

DetailColumns::DetailColumns(const DecodedRows& decoded)
    : misc{decoded.integers(ColumnId::kMisc)},
      ip{decoded.integers(ColumnId::kIp)},
      data_address{decoded.integers(ColumnId::kDataAddress)},
      data_source{decoded.integers(ColumnId::kDataSource)},
      access_cost{decoded.integers(ColumnId::kAccessCost)},
      physical_address{decoded.integers(ColumnId::kPhysicalAddress)},
      transaction{decoded.integers(ColumnId::kTransaction)},
      cgroup{decoded.integers(ColumnId::kCgroup)},
      data_page_size{decoded.integers(ColumnId::kDataPageSize)},
      code_page_size{decoded.integers(ColumnId::kCodePageSize)} {}

Result<Done> check_one_target(const Scan& scan) {
    std::set<TargetId> targets;
    std::string names;
    for (const ScannedSession& session : scan.sessions()) {
        if (targets.insert(session.record.target).second && targets.size() <= 8) {
            names += (names.empty() ? "" : ", ") + session.record.target_name;
        }
    }
    if (targets.size() > 1) {
        return Error{ErrorCode::kUsage, "the selection holds " + std::to_string(targets.size()) + " targets (" + names +
                                            (targets.size() > 8 ? ", …" : "") +
                                            "), whose process ids collide; name one with --select "
                                            "'{target=\"NAME\"}'"};
    }
    return Done{};
}

RowMerge::RowMerge(const Scan& scan, const EventTable& events, const FileClock& clock)
    : scan_{scan}, events_{events}, clock_{clock} {
    list_epochs();
}

RowMerge::~RowMerge() = default;

void RowMerge::list_epochs() {
    for (std::size_t index = 0; index < scan_.sessions().size(); ++index) {
        const ScannedSession& session = scan_.sessions()[index];
        const auto [first, last] = scan_.tick_range(index);
        for (const EpochNumber epoch : session.epochs) {
            MergedEpoch merged;
            merged.session_index = index;
            merged.epoch = epoch;
            std::set<Series> series;
            std::uint64_t first_ticks = ~0ULL;
            bool has_samples = false;
            for (const BatchRecord& batch : session.batches) {
                if (batch.epoch != epoch) {
                    continue;
                }
                for (const BatchRecord::Rows& rows : batch.rows) {
                    const bool is_task = rows.series.kind == Kind::kTask;
                    const ExportedEvent* const event = events_.find(index, rows.series);
                    const bool is_left_out = event == nullptr || (rows.series.kind == Kind::kCounter && !event->log &&
                                                                  !event->counts_threads);
                    if (rows.row_count == 0 || (is_left_out && !is_task)) {
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
                merged.first_ns = clock_.ns_of(index, first_ticks);
                merged.series.assign(series.begin(), series.end());
                epochs_.push_back(std::move(merged));
            }
        }
    }
    std::stable_sort(epochs_.begin(), epochs_.end(),
                     [](const MergedEpoch& a, const MergedEpoch& b) { return a.first_ns < b.first_ns; });
    for (std::size_t index = 0; index < epochs_.size(); ++index) {
        epochs_[index].index = index;
    }
}

bool RowMerge::is_before(const Source& a, const Source& b) {
    return std::tie(a.now_ns, a.rank) < std::tie(b.now_ns, b.rank);
}

Result<Done> RowMerge::run(MergeVisitor& visitor) {
    std::size_t next = 0;
    while (next < epochs_.size() || !heap_.empty()) {
        if (next < epochs_.size() && (heap_.empty() || epochs_[next].first_ns <= heap_.front()->now_ns)) {
            PERFLEET_TRY(begin_epoch(epochs_[next], visitor));
            ++next;
            continue;
        }
        std::pop_heap(heap_.begin(), heap_.end(), is_later);
        std::unique_ptr<Source> source = std::move(heap_.back());
        heap_.pop_back();
        auto alive = PERFLEET_TRY(drain(*source, next < epochs_.size() ? &epochs_[next] : nullptr, visitor));
        if (alive) {
            heap_.push_back(std::move(source));
            std::push_heap(heap_.begin(), heap_.end(), is_later);
        } else if (--source->epoch->source_count == 0) {
            visitor.end_epoch(*source->epoch);
            source->epoch->dictionary = nullptr;
        }
    }
    return Done{};
}

Result<Done> RowMerge::begin_epoch(MergedEpoch& epoch, MergeVisitor& visitor) {
    epoch.dictionary = PERFLEET_TRY(scan_.dictionary(epoch.session_index, epoch.epoch));
    const bool is_new_run =
        heap_.empty() && epoch.index > 0 && epochs_[epoch.index - 1].session_index != epoch.session_index;
    visitor.begin_epoch(epoch, is_new_run);
    // Tasks first: they give meaning to other rows of the same time.
    std::vector<Series> order = epoch.series;
    std::stable_partition(order.begin(), order.end(), [](Series series) { return series.kind == Kind::kTask; });
    for (const Series series : order) {
        const bool is_task = series.kind == Kind::kTask;
        auto source = std::make_unique<Source>(
            scan_, epoch, series, is_task ? nullptr : events_.find(epoch.session_index, series), rank_count_++);
        auto alive = advance(*source);
        if (alive && *alive && is_task) {
            alive = take_presence(*source, visitor);
        }
        if (!alive) {
            return std::move(alive).error();
        }
        if (*alive) {
            ++epoch.source_count;
            heap_.push_back(std::move(source));
            std::push_heap(heap_.begin(), heap_.end(), is_later);
        }
    }
    return Done{};
}

// Visits the source's rows until another source, or the next epoch, has an earlier one. False at its end, and after the
// end of the time range.
Result<bool> RowMerge::drain(Source& source, const MergedEpoch* next_epoch, MergeVisitor& visitor) {
    do {
        if (!heap_.empty() && is_before(*heap_.front(), source)) {
            return true;
        }
        if (Ticks{source.times[source.row]} >= source.range.second) {
            return false;
        }
        PERFLEET_TRY(visit(source, visitor));
        auto alive = advance(source);
        if (!alive || !*alive) {
            return alive;
        }
    } while (next_epoch == nullptr || source.now_ns < next_epoch->first_ns);
    return true;
}

// Goes to the next row.
Result<bool> RowMerge::advance(Source& source) {
    if (!source.next_in_block()) {
        const RowBlock* const block = source.blocks.next();
        if (block == nullptr) {
            const auto status = source.blocks.status();
            return status.ok() ? Result<bool>{false} : status.error();
        }
        source.begin_block(block->rows);
        if (traits_of(source.series.kind).has_call_chain) {
            source.columns.emplace(*source.rows);
        }
        if (source.series.kind == Kind::kDetailedSample) {
            source.details.emplace(*source.rows);
        }
    }
    source.now_ns = clock_.ns_of(source.epoch->session_index, source.times[source.row]);
    return true;
}

// An epoch's initial tasks and mappings existed before its first sample.
Result<bool> RowMerge::take_presence(Source& source, MergeVisitor& visitor) {
    for (;;) {
        const auto op = static_cast<TaskOp>(source.rows->integers(ColumnId::kTaskOp)[source.row]);
        if (op != TaskOp::kPresent && op != TaskOp::kMap && op != TaskOp::kCgroup && op != TaskOp::kCgroupName &&
            op != TaskOp::kNamespaces) {
            return true;
        }
        source.now_ns = source.epoch->first_ns;
        PERFLEET_TRY(visit(source, visitor));
        auto alive = advance(source);
        if (!alive || !*alive) {
            return alive;
        }
    }
}

Result<Done> RowMerge::visit(const Source& source, MergeVisitor& visitor) {
    const Ticks ticks{source.times[source.row]};
    return visitor.row({*source.epoch, source.series, source.event, source.columns ? &*source.columns : nullptr,
                        source.details ? &*source.details : nullptr, *source.rows, source.row, source.now_ns,
                        ticks >= source.range.first && ticks < source.range.second});
}

}  // namespace perfleet
