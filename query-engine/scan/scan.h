// The scan: from a store and a selection to decoded rows, session by session, epoch by epoch. What statistics and
// exporters stand on.
//
// Time: rows keep ticks; ScannedSession::clock converts. A row is in the selection when its UTC time is in [from, to);
// definitions, task rows and operators' changes are always given whole, for they give meaning to the rest. Threads:
// open() and the visits may run on several threads at once over one Scan. Visits are deterministic: the same rows in
// the same order whatever the order of delivery, the batching in the store, or the engine.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "query-engine/ledger/ledger.h"
#include "query-engine/scan/covered_seqs.h"
#include "query-engine/scan/query_context.h"
#include "query-engine/scan/query_memory.h"
#include "query-engine/scan/row_block.h"
#include "query-engine/scan/row_filters.h"
#include "query-engine/select/selection.h"
#include "schemas/vocabulary/error.h"
#include "storage/block/block.h"
#include "storage/block/narrow_columns.h"
#include "storage/clock/clock_map.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/read/reader.h"
#include "storage/summary/day_summary.h"

namespace perfleet {

// What a scan knows of one selected session.
struct ScannedSession {
    SessionRecord record;
    ClockMap clock;
    std::vector<Partition> partitions;        // that hold rows of it, ascending
    std::vector<EpochNumber> epochs;          // ascending; each lies in one partition
    std::vector<BatchRecord> batches;         // ascending by seq, over all partitions
    std::vector<Partition> batch_partitions;  // where batches[i] stands
    // By epoch, indices [first, last) of its batches: one range, unless a collector breaks its contract.
    std::map<EpochNumber, std::vector<std::pair<std::size_t, std::size_t>>> epoch_batches;
    std::optional<SessionEnd> end;  // none: still running, or unclean
    std::vector<std::pair<Series, std::uint64_t>> expired;
    std::vector<Series> series;  // with at least one row, ascending
    bool is_damaged = false;     // batch records of it can't be read, or may be lost with write-ahead logs
    std::optional<BucketNumber> last_expired_bucket = std::nullopt;
    SessionNote note{};

    // As far as its clock points tell: a clock that was set later tells it of before.
    [[nodiscard]] UtcNs began() const { return clock.utc_of(record.start_point.ticks); }
};

// The dictionary of a partition, as one of an epoch.
struct PartitionStacks {
    Partition partition;
    std::uint32_t checksum = 0;  // by which maps name it
    EpochDictionary dictionary;
};

// What a scan could not read, told by the visits: for the ledgers and warnings that are made after them. Threads: any.
class ScanDamage {
public:
    enum class Why : std::uint8_t { kDamaged, kExpired };  // expired: their hour was dropped since the scan was opened
    void add_rows(std::size_t session_index, EpochNumber epoch, Series series, Why why, std::uint64_t row_count);
    void add_note(std::size_t session_index, const std::string& text);
    void leave_out(std::size_t session_index, Series series);
    [[nodiscard]] std::vector<std::pair<std::size_t, Series>> left_out() const;

    [[nodiscard]] std::uint64_t rows(std::size_t session_index, Series series, Why why) const;
    [[nodiscard]] std::vector<std::string> notes(std::size_t session_index) const;

private:
    static constexpr std::size_t kNotesMax = 16;  // a session

    mutable std::mutex mutex_;
    std::map<std::tuple<std::size_t, Series, EpochNumber>, std::pair<Why, std::uint64_t>> rows_;
    std::map<std::size_t, std::set<std::string>> notes_;
    std::set<std::pair<std::size_t, Series>> left_out_;
};

// Which rows a cursor gives of counters, whose readings say what was counted until then.
enum class RowsWanted : std::uint8_t {
    kInRange,
    kUpToItsEnd,  // those before the time range, too, and one at its end
};

class Scan {
public:
    // Takes up the sessions and their batch records as they are now; rows that are put later are not seen. Borrows
    // `store` and the context, null where it is alone. Errors: kTooLarge when memory is exceeded; kNotFound when
    // a `--session` prefix matches none; kUsage when it matches several or is no hex number; those of the store.
    [[nodiscard]] static Result<Scan> open(const StoreReader& store, const Selection& selection,
                                           QueryContext* context = nullptr);

    // Before the first visit, where the selection filters frames.
    void set_frame_filter(FrameFilter filter) { filters_->set_frame_filter(std::move(filter)); }

    [[nodiscard]] std::span<const ScannedSession> sessions() const { return sessions_; }
    [[nodiscard]] const Selection& selection() const { return selection_; }

    // The ticks [first, last) of the session that the selection's time range covers.
    [[nodiscard]] std::pair<Ticks, Ticks> tick_range(std::size_t session_index) const;

    // The first and the last of them between which the batches say that there are rows of these series.
    [[nodiscard]] std::optional<std::pair<Ticks, Ticks>> ticks_of(std::size_t session_index,
                                                                  std::span<const Series> series) const;

    // Whether a RowCursor would meet any row.
    [[nodiscard]] bool has_rows(std::size_t session_index, EpochNumber epoch, Series series) const {
        return !expected_rows(session_index, epoch, series).empty();
    }

    // As above, beside the batches that summaries stand for.
    [[nodiscard]] bool has_rows(std::size_t session_index, EpochNumber epoch, Series series,
                                const CoveredSeqs& covered) const {
        return !expected_rows(session_index, epoch, series, &covered).empty();
    }
    // Whether all of the epoch's rows of the series lie in the time range, as their batches say.
    [[nodiscard]] bool is_all_in_range(std::size_t session_index, EpochNumber epoch, Series series) const;

    // The series' rows of one epoch, as a RowCursor gives them, on several threads: the visitor is called by `worker` 0
    // to `worker_count` - 1, by each for one block at a time, in no particular order. It decodes what it needs: nothing
    // is yet. What is `covered` is passed over. Errors: those of the store; kTooLarge, when memory() is exceeded.
    [[nodiscard]] Result<Done> visit_rows_in_parallel(
        std::size_t session_index, EpochNumber epoch, Series series, const CoveredSeqs& covered, unsigned worker_count,
        const std::function<void(unsigned worker, RowBlock&)>& visitor) const;
    // How many threads a query about this scan may use.
    [[nodiscard]] unsigned worker_count() const { return worker_count_; }
    // What it may take; batch records are in it.
    [[nodiscard]] QueryMemory& memory() const { return *memory_; }

    // The summaries of a day that stand in this partition, ascending by their first seq, of which all rows lie in the
    // time range, are rows of batches that this scan knows, and mean what they meant. The visitor says whether it wants
    // more. One that is damaged is left out and told in the warnings: its rows are in their blocks. Errors: those of
    // the store.
    [[nodiscard]] Result<Done> visit_summaries(std::size_t session_index, const Partition& partition, Series series,
                                               const std::function<Visit(const DaySummary&)>& visitor) const;
    // Whether any stands there, whatever it is worth.
    [[nodiscard]] Result<bool> has_summary(std::size_t session_index, const Partition& partition, Series series) const;
    // Read and checked anew at each call; callers keep it while they work on the epoch. Of these kinds of definitions
    // only; what the others define isn't defined then.
    [[nodiscard]] Result<std::shared_ptr<const EpochDictionary>> dictionary(
        std::size_t session_index, EpochNumber epoch, std::span<const Kind> kinds = kDefinitions) const;

    // The dictionary of a partition; null where there is none, or one with more nodes than this, or the selection is
    // exact. One that is damaged is told in the warnings of the session: definitions in blocks say the same. Errors:
    // those of the store.
    [[nodiscard]] Result<std::shared_ptr<const PartitionStacks>> partition_stacks(const Partition& partition,
                                                                                  std::uint64_t node_count_max,
                                                                                  std::size_t session_index) const;
    // What the epoch's stack numbers are in it: nodes by number, 0 where one isn't defined, each below
    // stacks.dictionary.stack_count(). Nothing where there is no map, or not one of just the definitions that the scan
    // knows.
    [[nodiscard]] Result<std::optional<std::vector<std::uint32_t>>> stack_map(std::size_t session_index,
                                                                              EpochNumber epoch,
                                                                              const PartitionStacks& stacks) const;

    // The ledger of the session's rows of these kinds (all row kinds when empty; definitions never), and of the
    // selected event only, if one is. Rows that visits met as damaged so far are lost. With a time range, what is
    // counted are the batches that overlap it. `warnings` gets a line for an unclean session and the like.
    [[nodiscard]] Ledger ledger(std::size_t session_index, std::span<const Kind> kinds,
                                std::vector<std::string>& warnings) const;

    // As above, of one series.
    [[nodiscard]] Ledger ledger(std::size_t session_index, Series series, std::vector<std::string>& warnings) const;

    // All series that the session's ledger speaks of, also those without a stored row; definitions left out. Ascending.
    [[nodiscard]] std::vector<Series> ledger_series(std::size_t session_index) const;

    // Whether the series is of the selected event; always, when none is selected.
    [[nodiscard]] bool is_selected(std::size_t session_index, Series series) const;

    // What an answer leaves out of the session, and why: a warning of its ledgers.
    void note_left_out(std::size_t session_index, const std::string& what) const;
    // The same of a whole series, which the answer's ledger has all the same.
    void leave_out(std::size_t session_index, Series series, const std::string& what) const;
    [[nodiscard]] std::vector<std::pair<std::size_t, Series>> left_out() const { return damage_->left_out(); }

    [[nodiscard]] const StoreReader& store() const { return *store_; }

private:
    friend class EpochBlocks;
    friend class BlockRows;

    // What of a block belongs to this scan: the rows of the batches that it took up when it was opened and that no
    // summary stands for.
    struct Share {
        bool is_whole = true;                                       // all of the block
        std::vector<std::pair<std::size_t, std::size_t>> ranges{};  // rows [first, last)
        Seq first_seq{};
        Seq last_seq{};
        std::uint64_t expected_row_count = 0;  // as expected_rows() counts them
    };

    Scan(const StoreReader& store, Selection selection, QueryContext* context);
    // kCancelled.
    [[nodiscard]] Result<Done> go_on() const { return context_ == nullptr ? Result<Done>{Done{}} : context_->go_on(); }
    void expect_rows() const;
    // So many rows of the epoch's series are read by now.
    void advance(std::size_t session_index, EpochNumber epoch, Series series, std::uint64_t row_count) const;
    // By which ticks the rows of such a block are to be cut; nothing where all or none of it is in the time range, or
    // its rows hold from their time on.
    [[nodiscard]] std::optional<TickRange> cut_of(std::size_t session_index, const BlockHeader& header,
                                                  RowsWanted span) const;
    // Whether a block with these bounds lies outside the time range.
    [[nodiscard]] bool is_pruned(std::size_t session_index, Series series, Ticks first, Ticks last) const;
    // Whether rows of the batch are to be read.
    [[nodiscard]] bool is_to_be_read(std::size_t session_index, Seq seq, const BatchRecord::Rows& rows,
                                     const CoveredSeqs* covered) const;
    // Batches of the epoch with rows of the series, ascending by seq.
    void each_batch(std::size_t session_index, EpochNumber epoch, Series series,
                    const std::function<void(const Partition&, Seq, const BatchRecord::Rows&)>& visitor) const;
    // What the batch records say is in each partition, without what lies outside the time range. `covered` is
    // null, here and below, where no summary stands for anything.
    [[nodiscard]] std::map<Partition, std::uint64_t> expected_rows(std::size_t session_index, EpochNumber epoch,
                                                                   Series series,
                                                                   const CoveredSeqs* covered = nullptr) const;
    [[nodiscard]] bool adds_up(std::size_t session_index, Series series, const Partition& partition,
                               const RowCover& cover) const;
    [[nodiscard]] bool adds_up(std::size_t session_index, Series series, const DayHour& hour) const;
    // Whether it covers all rows of these kinds that the scan knows of the epoch, and these alone.
    [[nodiscard]] bool covers_all(std::size_t session_index, const Partition& partition, const RowCover& cover,
                                  bool (*is_covered_kind)(Kind)) const;
    // The first batch of these seqs that the scan knows in this partition and epoch; null when there is none.
    [[nodiscard]] const BatchRecord* batch_from(std::size_t session_index, EpochNumber epoch,
                                                const Partition& partition, Seq first, Seq last) const;
    [[nodiscard]] Result<BlockView> parse_block(const BlockPlace& place, std::string_view bytes_untrusted) const;
    [[nodiscard]] Result<Share> share_of(std::size_t session_index, const Partition& partition, const BlockView& block,
                                         const CoveredSeqs* covered) const;
    // The epoch's hour, since the scan was opened.
    [[nodiscard]] bool was_dropped(std::size_t session_index, EpochNumber epoch) const;
    void note_faults(std::size_t session_index, EpochNumber epoch, const DefinitionFaults& faults) const;
    // Tells the damage when fewer rows were seen than the batch records name.
    void count_unseen(std::size_t session_index, EpochNumber epoch, Series series, const CoveredSeqs* covered,
                      std::uint64_t row_count) const;

    const StoreReader* store_;
    QueryContext* context_;
    Selection selection_;
    unsigned worker_count_ = 1;
    std::shared_ptr<ScanDamage> damage_ = std::make_shared<ScanDamage>();
    std::shared_ptr<RowFilters> filters_;
    std::shared_ptr<QueryMemory> memory_;
    MemoryShare batches_share_;
    std::vector<ScannedSession> sessions_;
    std::vector<std::pair<Ticks, Ticks>> tick_ranges_;  // as sessions_
};

}  // namespace perfleet
