// Records in the order of time as rows, as the collector's source makes them: samples and tracepoints with their call
// chains, tasks, mappings and losses.
//
// What these rows have no column for stands beside them in rows of Kind::kRecord: fields of samples (perf::SampleRest),
// and the bytes of whole records. What no row has is counted by name: not_kept(). One thread. Memory: the tables of the
// collector's source, and that of KeptRecords.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/chain_cache.h"
#include "target-collector/process/epoch_definitions.h"
#include "target-collector/process/process_table.h"
#include "target-collector/process/stack_resolver.h"
#include "target-collector/process/stack_unwinder.h"
#include "target-collector/process/task_rows.h"
#include "target-collector/records/record_reader.h"
#include "target-collector/records/sample_reader.h"
#include "tools/perfleet/import/perf-data/event_finder.h"
#include "tools/perfleet/import/perf-data/kept_records.h"
#include "tools/perfleet/import/perf-data/recorded_session.h"
#include "tools/perfleet/import/perf-data/replayed_images.h"
#include "tools/perfleet/import/session/sealed_rows.h"

namespace perfleet {

// What an event has counted since the recording began.
struct CounterReading {
    std::uint32_t cpu = 0;
    std::uint32_t pid = 0;  // ~0: of all processes
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
};

class RecordReplay {
public:
    // Borrowed.
    RecordReplay(const RecordedSession& recording, const EventFinder& events, SealedRows& rows, UtcNs recorded_until,
                 SymbolPaths paths);

    // `time`: of the record; 0 where it has none.
    void take(const RecordBytes& record, std::uint64_t time);

    void take_counter(std::uint32_t event_index, const CounterReading& reading, std::uint64_t time);

    // A record that can't be understood: lost.
    void count_malformed();
    // Samples whose call chain has more frames than are kept.
    [[nodiscard]] std::uint64_t cut_stack_count() const { return cut_stack_count_; }
    [[nodiscard]] std::uint64_t malformed_count() const { return malformed_count_; }

    // Counts what was lost, and told at the end alone.
    void finish();

    // Of the last record.
    [[nodiscard]] std::uint64_t time() const { return time_; }
    [[nodiscard]] std::uint64_t sample_count() const { return sample_count_; }
    [[nodiscard]] const ReplayedImages& images() const { return images_; }

    // What was in the file and is in no row: "bit 25 of 1000 samples", "12 records of type 71 (AUXTRACE)".
    [[nodiscard]] std::vector<std::string> not_kept() const;

    // A record that the caller passes over.
    void skip(std::uint32_t type) { ++skipped_[type]; }

private:
    struct EventState {
        Series series;
        std::uint64_t sample_count = 0;
        std::uint64_t raw_skipped = 0;
        std::uint64_t lost_reported = 0;  // by LOST records
        std::uint64_t lost_counted = 0;   // by LOST_SAMPLES
    };

    void begin();
    void take_sample(const RecordBytes& record);
    void append_sample(EventState& state, const SampleRecord& sample, StackNumber stack, std::uint64_t weight);
    void keep_rest(const RecordBytes& record, const SampleRecord& sample, const RecordedEvent& event,
                   EventNumber number);
    void take_side_band(const RecordBytes& record);
    void keep_record(const RecordBytes& record, const RecordTrailer& trailer, std::uint32_t event);
    void take_comm(const CommRecord& comm, TaskRow& row);
    void take_task(const TaskRecord& task, const RecordBytes& record, TaskRow& row);
    void take_mapping(MapRecord map, std::uint16_t misc, TaskRow& row);
    void take_lost(const LostRecord& lost, bool is_total, TaskRow& row);
    void take_throttle(std::uint64_t id, bool is_start, const RecordTrailer& trailer, TaskRow& row);
    [[nodiscard]] StackNumber stack_of(const RecordBytes& record, const SampleRecord& sample,
                                       const RecordedEvent& event, Series series);
    [[nodiscard]] std::span<const std::uint64_t> words_of(const RecordBytes& record, const SampleRecord& sample,
                                                          const RecordedEvent& event, const MappingList& mappings,
                                                          Series series);
    void append(const TaskRow& row);

    // When an epoch has begun.
    void define_present();
    void define_modules();
    void sweep_images();

    const RecordedSession& recording_;
    const EventFinder& events_;
    SealedRows& rows_;
    KeptRecords kept_;
    SampleReader reader_;
    ImageTable table_;
    ImageIndex unknown_image_ = 0;
    ReplayedImages images_;
    ProcessTable processes_;
    ChainCache chains_;
    std::optional<UnwindMachine> machine_;
    StackUnwinder unwinder_;
    StackUnwinder::Chain unwound_;
    bool is_unwound_ = false;           // the chain at hand is, from a copied stack
    bool is_unwound_to_limit_ = false;  // the chain at hand has more frames than are kept
    std::uint64_t cut_stack_count_ = 0;
    std::unique_ptr<ResolvedStack> resolved_;
    EpochDefinitions definitions_;
    std::vector<std::uint64_t> words_;
    std::array<std::byte, limits::kRawBytesMax> rest_{};             // encoded perf::SampleRest
    std::vector<EventState> states_;                                 // by event
    std::unordered_map<std::uint64_t, std::uint64_t> group_counts_;  // the last READ value, by id
    std::map<std::uint32_t, std::uint64_t> skipped_;                 // records by type
    std::uint64_t sample_count_ = 0;
    std::uint64_t malformed_count_ = 0;
    std::uint64_t time_ = 0;
    bool has_branches_ = false;  // stacks of them
    bool has_begun_ = false;
};

}  // namespace perfleet
