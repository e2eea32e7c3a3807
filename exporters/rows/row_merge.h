// Merges the rows of an export in order of time: selected samples, tracepoints and counts of threads, and all earlier
// task rows, of all series, epochs and sessions.
//
// Keeps one decoded block of each active series in memory, so exports may be of any size. Rows of equal time: first
// tasks, then other kinds by number, each by event; rows of one series as stored, samples by cpu. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exporters/rows/event_table.h"
#include "exporters/rows/file_clock.h"
#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"
#include "schemas/vocabulary/non_copyable.h"
#include "storage/dictionary/epoch_dictionary.h"

namespace perfleet {

// One epoch of one session. Its dictionary exists while its rows are merged.
struct MergedEpoch {
    std::size_t index = 0;  // of RowMerge::epochs()
    std::size_t session_index = 0;
    EpochNumber epoch;
    std::uint64_t first_ns = 0;
    std::vector<Series> series;  // with rows in it
    std::shared_ptr<const EpochDictionary> dictionary;
    std::size_t source_count = 0;  // still active
};

// The columns of a block of samples, looked up once.
struct SampleColumns {
    explicit SampleColumns(const DecodedRows& decoded)
        : cpu{decoded.integers(ColumnId::kCpu)},
          pid{decoded.integers(ColumnId::kPid)},
          tid{decoded.integers(ColumnId::kTid)},
          stack{decoded.integers(ColumnId::kStack)},
          weight{decoded.integers(ColumnId::kWeight)} {}
    std::span<const std::uint64_t> cpu;
    std::span<const std::uint64_t> pid;
    std::span<const std::uint64_t> tid;
    std::span<const std::uint64_t> stack;
    std::span<const std::uint64_t> weight;
};

// Those of a block of detailed samples.
struct DetailColumns {
    explicit DetailColumns(const DecodedRows& decoded);
    std::span<const std::uint64_t> misc;
    std::span<const std::uint64_t> ip;
    std::span<const std::uint64_t> data_address;
    std::span<const std::uint64_t> data_source;
    std::span<const std::uint64_t> access_cost;
    std::span<const std::uint64_t> physical_address;
    std::span<const std::uint64_t> transaction;
    std::span<const std::uint64_t> cgroup;
    std::span<const std::uint64_t> data_page_size;
    std::span<const std::uint64_t> code_page_size;
};

// Borrowed until the visitor returns.
struct MergedRow {
    const MergedEpoch& epoch;
    Series series;
    const ExportedEvent* event;    // nullptr: a task row
    const SampleColumns* columns;  // only for samples and tracepoints
    const DetailColumns* details;  // only for those that have some
    const DecodedRows& rows;
    std::size_t row = 0;
    std::uint64_t time_ns = 0;  // on the file's clock
    bool is_in_range = true;    // of the time range; always for samples
};

class MergeVisitor {
public:
    virtual ~MergeVisitor() = default;
    // Called before the epoch's rows. `is_new_run`: earlier sessions have ended, and the state of tasks must be
    // dropped.
    virtual void begin_epoch(const MergedEpoch& epoch, bool is_new_run) = 0;
    virtual void end_epoch(const MergedEpoch& epoch) = 0;
    // An error ends the merge.
    [[nodiscard]] virtual Result<Done> row(const MergedRow& row) = 0;
};

// Errors: kUsage when the selection holds several targets: their process ids collide, and their clocks differ.
[[nodiscard]] Result<Done> check_one_target(const Scan& scan);

class RowMerge : NonCopyable {
public:
    // Borrows all three.
    RowMerge(const Scan& scan, const EventTable& events, const FileClock& clock);
    ~RowMerge();

    // The epochs with selected samples, by their first row. Empty: nothing to export.
    [[nodiscard]] std::span<const MergedEpoch> epochs() const { return epochs_; }

    // To be called once. Errors: those of the store and of the visitor.
    [[nodiscard]] Result<Done> run(MergeVisitor& visitor);

private:
    struct Source;
    static bool is_before(const Source& a, const Source& b);
    static bool is_later(const std::unique_ptr<Source>& a, const std::unique_ptr<Source>& b) {
        return is_before(*b, *a);
    }
    void list_epochs();
    [[nodiscard]] Result<Done> begin_epoch(MergedEpoch& epoch, MergeVisitor& visitor);
    [[nodiscard]] Result<bool> drain(Source& source, const MergedEpoch* next_epoch, MergeVisitor& visitor);
    [[nodiscard]] Result<bool> advance(Source& source);
    [[nodiscard]] Result<bool> take_presence(Source& source, MergeVisitor& visitor);
    [[nodiscard]] Result<Done> visit(const Source& source, MergeVisitor& visitor);

    const Scan& scan_;
    const EventTable& events_;
    const FileClock& clock_;
    std::vector<MergedEpoch> epochs_;
    std::vector<std::unique_ptr<Source>> heap_;
    std::size_t rank_count_ = 0;
};

}  // namespace perfleet
