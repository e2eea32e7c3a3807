#include "query-engine/scan/row_filters.h"

#include <algorithm>
#include <array>
#include <span>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"
#include "schemas/pprof/sample_labels.h"

namespace perfleet {
namespace {

constexpr std::size_t kEpochsMax = 8;  // epochs kept; no query works on more at once

bool contains(const RowFilter::Ranges& ranges, std::uint64_t number) {
    return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
               return number >= range.first && number <= range.second;
           });
}

void append(RowRanges& rows, std::size_t row) {
    if (!rows.empty() && rows.back().second == row) {
        ++rows.back().second;
    } else {
        rows.emplace_back(row, row + 1);
    }
}

bool has_tags(const std::vector<RowFilter::Tag>& tags, std::string_view labels_untrusted) {
    const auto labels = decode_labels(labels_untrusted);
    return labels && std::all_of(tags.begin(), tags.end(), [&](const RowFilter::Tag& tag) {
               return std::any_of(labels->begin(), labels->end(), [&](const SampleLabel& label) {
                   const std::string number = std::to_string(label.number);
                   return label.key == tag.key &&
                          (!label.text.empty() ? matches_any(tag.values, label.text)
                                               : matches_any(tag.values, number) ||
                                                     matches_any(tag.values, number + std::string{label.unit}));
               });
           });
}

}  // namespace

RowRanges common_rows(const RowRanges& a, const RowRanges& b) {
    RowRanges common;
    for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
        const std::size_t first = std::max(x->first, y->first);
        const std::size_t last = std::min(x->second, y->second);
        if (first < last) {
            common.emplace_back(first, last);
        }
        ++(x->second < y->second ? x : y);
    }
    return common;
}

bool RowFilters::applies_to(Kind kind) const {
    return (filter_.has_rows() || filter_.has_frames()) && traits_of(kind).holds != RowSpan::kFromThenOn;
}

Result<RowRanges> RowFilters::passing(const Scan& scan, std::size_t session_index, const BlockView& block,
                                      const std::optional<TickRange>& cut) {
    RowRanges rows{{0, block.header.row_count}};
    if (cut) {
        DecodedRows decoded;
        PERFLEET_TRY(decoded.decode(block, std::array{ColumnId::kTime}));
        const auto times = decoded.integers(ColumnId::kTime);
        rows.clear();
        for (std::size_t row = 0; row < times.size(); ++row) {
            if (Ticks{times[row]} >= cut->first && Ticks{times[row]} < cut->second) {
                append(rows, row);
            }
        }
    }
    return applies_to(block.header.series.kind) ? filtered(scan, session_index, block, rows)
                                                : Result<RowRanges>{std::move(rows)};
}

Result<RowRanges> RowFilters::filtered(const Scan& scan, std::size_t session_index, const BlockView& block,
                                       const RowRanges& within) {
    const Kind kind = block.header.series.kind;
    const bool has_labels = !filter_.tags.empty();
    if (has_labels && !has_sample_labels(scan.sessions()[session_index].record)) {
        return RowRanges{};  // raw data of other sessions isn't labels
    }
    std::vector<ColumnId> wanted;
    const auto want = [&](bool is_filtered, ColumnId id) {
        if (is_filtered && std::find(wanted.begin(), wanted.end(), id) == wanted.end()) {
            wanted.push_back(id);
        }
    };
    const bool has_cgroups = !filter_.cgroups.empty();
    want(!filter_.comms.empty() || has_cgroups, ColumnId::kTime);
    want(!filter_.comms.empty() || !filter_.tids.empty(), ColumnId::kTid);
    want(!filter_.pids.empty() || has_cgroups, ColumnId::kPid);
    want(!filter_.cpus.empty(), ColumnId::kCpu);
    want(filter_.has_frames(), ColumnId::kStack);
    want(has_labels, ColumnId::kRawBytes);
    if (std::any_of(wanted.begin(), wanted.end(), [&](ColumnId id) { return column_rule(kind, id) == nullptr; })) {
        return RowRanges{};  // this kind of rows has no thread, no cpu or no labels
    }
    DecodedRows rows;
    PERFLEET_TRY(rows.decode(block, wanted));
    std::shared_ptr<const Epoch> epoch;
    if (!filter_.comms.empty() || has_cgroups || filter_.has_frames()) {
        epoch = PERFLEET_TRY(epoch_of(scan, {session_index, block.header.epoch}));
    }
    const auto column = [&](ColumnId id) {
        return std::find(wanted.begin(), wanted.end(), id) == wanted.end() ? std::span<const std::uint64_t>{}
                                                                           : rows.integers(id);
    };
    const auto times = column(ColumnId::kTime);
    const auto tids = column(ColumnId::kTid);
    const auto pids = column(ColumnId::kPid);
    const auto cpus = column(ColumnId::kCpu);
    const auto stacks = column(ColumnId::kStack);
    const auto in_cgroup = [&](std::size_t row) {
        const auto cgroup = epoch->cgroups.at(static_cast<std::uint32_t>(pids[row]), Ticks{times[row]}).name;
        return cgroup != ProcessCgroups::kUnknown && epoch->cgroup_passes[cgroup];
    };
    const auto has_comm = [&](std::size_t row) {
        const auto tid = static_cast<std::uint32_t>(tids[row]);
        return matches_any(filter_.comms, epoch->names.text(epoch->names.at(tid, Ticks{times[row]}).name, tid));
    };
    RowRanges passing;
    for (const auto& [first, last] : within) {
        for (std::size_t row = first; row < last; ++row) {
            if ((tids.empty() || contains(filter_.tids, tids[row])) &&
                (pids.empty() || contains(filter_.pids, pids[row])) &&
                (cpus.empty() || contains(filter_.cpus, cpus[row])) &&
                (stacks.empty() || (stacks[row] < epoch->stacks.size() && epoch->stacks[stacks[row]])) &&
                (filter_.comms.empty() || has_comm(row)) && (!has_cgroups || in_cgroup(row)) &&
                (!has_labels || has_tags(filter_.tags, rows.bytes(ColumnId::kRawBytes, row)))) {
                append(passing, row);
            }
        }
    }
    return passing;
}

Result<std::shared_ptr<const RowFilters::Epoch>> RowFilters::epoch_of(const Scan& scan, EpochKey key) {
    const std::lock_guard lock{mutex_};
    if (const auto known = epochs_.find(key); known != epochs_.end()) {
        return known->second;
    }
    if (filter_.has_frames() && !frame_filter_) {
        return Error{ErrorCode::kUsage, "--image and --symbol: this command has no rows with call chains"};
    }
    const auto dictionary = PERFLEET_TRY(scan.dictionary(key.first, key.second));
    auto epoch = std::make_shared<Epoch>();
    if (!filter_.comms.empty()) {
        epoch->names = PERFLEET_TRY(read_thread_names(scan, key.first, key.second, *dictionary));
    }
    if (!filter_.cgroups.empty()) {
        auto cgroups = PERFLEET_TRY(read_cgroups(scan, key.first, key.second, *dictionary));
        epoch->cgroups = std::move(cgroups);
        for (const std::string& path : epoch->cgroups.paths()) {
            epoch->cgroup_passes.push_back(filter_.cgroups.passes(path));
        }
    }
    if (filter_.has_frames()) {
        epoch->stacks = frame_filter_(*dictionary);
    }
    if (epochs_.size() == kEpochsMax) {
        epochs_.erase(epochs_.begin());
    }
    return epochs_.emplace(key, std::move(epoch)).first->second;
}

namespace {

// Reads an epoch's task rows into `Names`.
template <class Names>
Result<Names> read_task_rows(const Scan& scan, std::size_t session_index, EpochNumber epoch,
                             const EpochDictionary& dictionary) {
    Names names;
    RowCursor rows{scan, session_index, {epoch}, Series{Kind::kTask, kNoEvent}, Names::kColumns};
    while (const RowBlock* const block = rows.next()) {
        names.add(block->rows);
    }
    PERFLEET_TRY(rows.status());
    names.finish(dictionary);
    return names;
}

}  // namespace

Result<ThreadNames> read_thread_names(const Scan& scan, std::size_t session_index, EpochNumber epoch,
                                      const EpochDictionary& dictionary) {
    return read_task_rows<ThreadNames>(scan, session_index, epoch, dictionary);
}

Result<ProcessCgroups> read_cgroups(const Scan& scan, std::size_t session_index, EpochNumber epoch,
                                    const EpochDictionary& dictionary) {
    return read_task_rows<ProcessCgroups>(scan, session_index, epoch, dictionary);
}

}  // namespace perfleet
