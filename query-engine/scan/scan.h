// The scan reads a selection of a store and gives decoded rows, session by session, epoch by epoch. Statistics and
// exporters are built on it.
//
// Time: rows keep ticks; ScannedSession::clock converts. A row is in the selection when its UTC time is in [from, to).
// Definitions, task rows and control rows are always given whole, because other rows need them to be understood.
// Threads: open() and the visits may run on several threads at once over one Scan. Visits are deterministic: the same
// rows in the same order whatever the order of delivery, the batching in the store, or the engine.
#pragma once

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
#include "storage/clock/clock_map.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/read/reader.h"
#include "storage/summary/day_summary.h"

namespace perfleet {

// One selected session, from its records in the store.
struct ScannedSession {
    SessionRecord record;
    ClockMap clock;
    std::vector<Partition> partitions;        // with rows of it, ascending
    std::vector<EpochNumber> epochs;          // ascending; each lies in one partition
    std::vector<BatchRecord> batches;         // ascending by seq, over all partitions
    std::vector<Partition> batch_partitions;  // the partition of batches[i]
    // By epoch, indices [first, last) of its batches: one range, unless a collector breaks its contract.
    std::map<EpochNumber, std::vector<std::pair<std::size_t, std::size_t>>> epoch_batches;
    std::optional<SessionEnd> end;  // none: still running, or unclean
    std::vector<std::pair<Series, std::uint64_t>> expired;
    std::vector<Series> series;  // with at least one row, ascending
    bool is_damaged = false;     // batch records are unreadable, or may be lost with write-ahead logs
    std::optional<BucketNumber> last_expired_bucket = std::nullopt;
    SessionNote note{};

    // Converted by the session's clock points: if the clock was set later, the new setting is applied backwards.
    [[nodiscard]] UtcNs began() const { return clock.utc_of(record.start_point.ticks); }
};

// The dictionary of a partition, in the form of an epoch's dictionary.
struct PartitionStacks {
    Partition partition;
    std::uint32_t checksum = 0;  // stack maps refer to the dictionary by it
    EpochDictionary dictionary;
};

// Rows that visits could not read. Ledgers and warnings that are made after the visits include them. Threads: any.
class ScanDamage {
public:
    enum class Why : std::uint8_t { kDamaged, kExpired };  // kExpired: its hour was dropped since the scan was opened
    void add_rows(std::size_t session_index, EpochNumber epoch, Series series, Why why, std::uint64_t row_count);
    void add_note(std::size_t session_index, const std::string& text);
    void leave_out(std::size_t session_index, Series series);
    [[nodiscard]] std::vector<std::pair<std::size_t, Series>> left_out() const;

    [[nodiscard]] std::uint64_t rows(std::size_t session_index, Series series, Why why) const;
    [[nodiscard]] std::vector<std::string> notes(std::size_t session_index) const;

private:
    static constexpr std::size_t kNotesMax = 16;  // of a session

    mutable std::mutex mutex_;
    std::map<std::tuple<std::size_t, Series, EpochNumber>, std::pair<Why, std::uint64_t>> rows_;
    std::map<std::size_t, std::set<std::string>> notes_;
    std::set<std::pair<std::size_t, Series>> left_out_;
};

// Which rows of a counter a cursor gives. A counter's reading holds the count up to its time.
enum class RowsWanted : std::uint8_t {
    kInRange,
    kUpToItsEnd,  // also rows before the time range, and those at its end
};

class Scan {
public:
    // Reads the sessions and their batch records as they are now; rows that are written later are not seen. Borrows
    // `store` and `context`, which may be null. Errors: kTooLarge when memory is exceeded; kNotFound when a `--session`
    // prefix matches none; kUsage when it matches several or is no hex number; those of the store.
    [[nodiscard]] static Result<Scan> open(const StoreReader& store, const Selection& selection,
                                           QueryContext* context = nullptr);

    // To be called before the first visit if the selection filters frames.
    void set_frame_filter(FrameFilter filter) { filters_->set_frame_filter(std::move(filter)); }

    [[nodiscard]] std::span<const ScannedSession> sessions() const { return sessions_; }
    [[nodiscard]] const Selection& selection() const { return selection_; }

    // The ticks [first, last) of the session that the selection's time range covers.
    [[nodiscard]] std::pair<Ticks, Ticks> tick_range(std::size_t session_index) const;

    // The first and last ticks of rows of these series, according to the batch records.
    [[nodiscard]] std::optional<std::pair<Ticks, Ticks>> ticks_of(std::size_t session_index,
                                                                  std::span<const Series> series) const;

    // Whether a RowCursor would find any row.
    [[nodiscard]] bool has_rows(std::size_t session_index, EpochNumber epoch, Series series) const {
        return !expected_rows(session_index, epoch, series).empty();
    }

    // As above, ignoring batches that summaries count.
    [[nodiscard]] bool has_rows(std::size_t session_index, EpochNumber epoch, Series series,
                                const CoveredSeqs& covered) const {
        return !expected_rows(session_index, epoch, series, &covered).empty();
    }
    // Whether all of the epoch's rows of the series lie in the time range, by the batch records.
    [[nodiscard]] bool is_all_in_range(std::size_t session_index, EpochNumber epoch, Series series) const;

    // Visits the rows that a RowCursor would give, on several threads. The visitor gets the worker's number, 0 to
    // `worker_count` - 1; each worker visits one block at a time, in no particular order. Blocks come without decoded
    // columns: the visitor calls decode_more(). `covered` batches are skipped. Errors: those of the store; kTooLarge
    // when memory() is exceeded.
    [[nodiscard]] Result<Done> visit_rows_in_parallel(
        std::size_t session_index, EpochNumber epoch, Series series, const CoveredSeqs& covered, unsigned worker_count,
        const std::function<void(unsigned worker, RowBlock&)>& visitor) const;
    // The number of threads that a query over this scan may use.
    [[nodiscard]] unsigned worker_count() const { return worker_count_; }
    // The query's memory; it includes the batch records.
    [[nodiscard]] QueryMemory& memory() const { return *memory_; }

    // Visits this partition's day summaries, ascending by first seq, of which all rows lie in the time range, belong to
    // batches that this scan knows, and have unchanged definitions. The visitor returns whether it wants more. A
    // damaged summary is skipped with a warning: its rows are read from blocks. Errors: those of the store.
    [[nodiscard]] Result<Done> visit_summaries(std::size_t session_index, const Partition& partition, Series series,
                                               const std::function<Visit(const DaySummary&)>& visitor) const;
    // Whether the partition has any summary of the series, usable or not.
    [[nodiscard]] Result<bool> has_summary(std::size_t session_index, const Partition& partition, Series series) const;
    // Reads and checks the dictionary at each call; callers keep it while they work on the epoch. Reads only
    // definitions of these `kinds`; those of other kinds are undefined in it.
    [[nodiscard]] Result<std::shared_ptr<const EpochDictionary>> dictionary(
        std::size_t session_index, EpochNumber epoch, std::span<const Kind> kinds = kDefinitions) const;

    // The dictionary of a partition. Null if there is none, it has more than `node_count_max` nodes, or the selection
    // is exact. A damaged one gives a warning of the session: blocks hold the same definitions. Errors: those of the
    // store.
    [[nodiscard]] Result<std::shared_ptr<const PartitionStacks>> partition_stacks(const Partition& partition,
                                                                                  std::uint64_t node_count_max,
                                                                                  std::size_t session_index) const;
    // Maps the epoch's stack numbers to nodes of `stacks`: index is the stack number, 0 is undefined, and each node is
    // below stacks.dictionary.stack_count(). Nothing if there is no map, or its definitions aren't exactly those that
    // the scan knows.
    [[nodiscard]] Result<std::optional<std::vector<std::uint32_t>>> stack_map(std::size_t session_index,
                                                                              EpochNumber epoch,
                                                                              const PartitionStacks& stacks) const;

    // The ledger of the session's rows of these kinds (all kinds of rows if empty; never definitions), and only of the
    // selected event, if one is selected. Rows that visits have found damaged so far count as lost. With a time range,
    // batches that overlap it are counted. `warnings` gets a line for an unclean session and the like.
    [[nodiscard]] Ledger ledger(std::size_t session_index, std::span<const Kind> kinds,
                                std::vector<std::string>& warnings) const;

    // The same for one series.
    [[nodiscard]] Ledger ledger(std::size_t session_index, Series series, std::vector<std::string>& warnings) const;

    // All series that the session's ledger names, also those without a stored row, except definitions. Ascending.
    [[nodiscard]] std::vector<Series> ledger_series(std::size_t session_index) const;

    // Whether the series belongs to the selected event; always true if none is selected.
    [[nodiscard]] bool is_selected(std::size_t session_index, Series series) const;

    // Adds a warning to the session's ledgers: what the answer leaves out, and why.
    void note_left_out(std::size_t session_index, const std::string& what) const;
    // The same for a whole series, which stays in the answer's ledger.
    void leave_out(std::size_t session_index, Series series, const std::string& what) const;
    [[nodiscard]] std::vector<std::pair<std::size_t, Series>> left_out() const { return damage_->left_out(); }

    [[nodiscard]] const StoreReader& store() const { return *store_; }

private:
    friend class EpochBlocks;
    friend class BlockRows;

    // The rows of a block that this scan may read: those of batches that it knew when it was opened and that no summary
    // counts.
    struct Share {
        bool is_whole = true;                                       // all of the block
        std::vector<std::pair<std::size_t, std::size_t>> ranges{};  // rows [first, last)
        Seq first_seq{};
        Seq last_seq{};
        std::uint64_t expected_row_count = 0;  // as in expected_rows()
    };

    Scan(const StoreReader& store, Selection selection, QueryContext* context);
    // Error: kCancelled.
    [[nodiscard]] Result<Done> go_on() const { return context_ == nullptr ? Result<Done>{Done{}} : context_->go_on(); }
    void expect_rows() const;
    // `row_count` rows of the epoch's series have been read so far.
    void advance(std::size_t session_index, EpochNumber epoch, Series series, std::uint64_t row_count) const;
    // The ticks by which the rows of such a block must be cut. Nothing if all or none of it lies in the time range, or
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
    // Row counts by partition according to the batch records, without rows outside the time range. `covered` is null,
    // here and below, if no summary is used.
    [[nodiscard]] std::map<Partition, std::uint64_t> expected_rows(std::size_t session_index, EpochNumber epoch,
                                                                   Series series,
                                                                   const CoveredSeqs* covered = nullptr) const;
    [[nodiscard]] bool adds_up(std::size_t session_index, Series series, const Partition& partition,
                               const RowCover& cover) const;
    [[nodiscard]] bool adds_up(std::size_t session_index, Series series, const DayHour& hour) const;
    // Whether `cover` holds exactly the rows of these kinds that the scan knows in the epoch.
    [[nodiscard]] bool covers_all(std::size_t session_index, const Partition& partition, const RowCover& cover,
                                  bool (*is_covered_kind)(Kind)) const;
    // The first batch with a seq in [first, last] that the scan knows in this partition and epoch; null if there is
    // none.
    [[nodiscard]] const BatchRecord* batch_from(std::size_t session_index, EpochNumber epoch,
                                                const Partition& partition, Seq first, Seq last) const;
    [[nodiscard]] Result<BlockView> parse_block(const BlockPlace& place, std::string_view bytes_untrusted) const;
    [[nodiscard]] Result<Share> share_of(std::size_t session_index, const Partition& partition, const BlockView& block,
                                         const CoveredSeqs* covered) const;
    // Whether the epoch's hour was dropped since the scan was opened.
    [[nodiscard]] bool was_dropped(std::size_t session_index, EpochNumber epoch) const;
    void note_faults(std::size_t session_index, EpochNumber epoch, const DefinitionFaults& faults) const;
    // Notes damage when fewer rows were seen than the batch records name.
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
