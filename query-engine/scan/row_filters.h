// Decides which of a block's rows a selection takes, by its time range and its filters. The only place that compares
// rows with them.
//
// Threads: any. Names and matches are computed once for each epoch and cached for the epochs used last.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "query-engine/scan/covered_seqs.h"
#include "query-engine/select/selection.h"
#include "schemas/vocabulary/error.h"
#include "storage/block/block.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/dictionary/process_cgroups.h"
#include "storage/dictionary/thread_names.h"

namespace perfleet {

class Scan;

// Rows [first, last).
using RowRanges = std::vector<std::pair<std::size_t, std::size_t>>;

// The rows that are in both. Each is ascending and disjoint.
[[nodiscard]] RowRanges common_rows(const RowRanges& a, const RowRanges& b);

// By stack number, whether samples with this innermost frame pass.
using FrameFilter = std::function<std::vector<bool>(const EpochDictionary&)>;

class RowFilters {
public:
    explicit RowFilters(RowFilter filter) : filter_{std::move(filter)} {}

    // Names of functions need a symbolizer, which is a layer above this one.
    void set_frame_filter(FrameFilter frame_filter) { frame_filter_ = std::move(frame_filter); }

    // Tasks, control requests and definitions give meaning to other rows and always pass.
    [[nodiscard]] bool applies_to(Kind kind) const;

    // The rows within `cut` (all rows if none) that pass the filters for their kind. Errors: those of the block's
    // columns; kUsage if frames are to be filtered and set_frame_filter() was not called.
    [[nodiscard]] Result<RowRanges> passing(const Scan& scan, std::size_t session_index, const BlockView& block,
                                            const std::optional<TickRange>& cut);

private:
    struct Epoch {
        ThreadNames names;
        std::vector<bool> stacks;
        ProcessCgroups cgroups;
        std::vector<bool> cgroup_passes;  // by number in `cgroups`
    };
    using EpochKey = std::pair<std::size_t, EpochNumber>;  // index of the session

    [[nodiscard]] Result<std::shared_ptr<const Epoch>> epoch_of(const Scan& scan, EpochKey key);

    // Narrows the rows to those that pass.
    [[nodiscard]] Result<RowRanges> filtered(const Scan& scan, std::size_t session_index, const BlockView& block,
                                             const RowRanges& within);

    const RowFilter filter_;
    FrameFilter frame_filter_;
    std::mutex mutex_;
    std::map<EpochKey, std::shared_ptr<const Epoch>> epochs_;
};

// Names of the epoch's threads and cgroups of its processes, by time. Errors: those of the store.
[[nodiscard]] Result<ThreadNames> read_thread_names(const Scan& scan, std::size_t session_index, EpochNumber epoch,
                                                    const EpochDictionary& dictionary);

[[nodiscard]] Result<ProcessCgroups> read_cgroups(const Scan& scan, std::size_t session_index, EpochNumber epoch,
                                                  const EpochDictionary& dictionary);

}  // namespace perfleet
