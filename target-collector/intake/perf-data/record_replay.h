// Turns records in time order into rows, like the collector's own source: samples and tracepoints with their call
// chains, tasks, mappings, cgroups, namespaces, context switches, counts of threads and losses.
//
// Content without any row is counted by name: not_kept(). One thread. Memory: the tables of the collector's source, and
// kCgroupsMax names.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "target-collector/intake/perf-data/deferred_chains.h"
#include "target-collector/intake/perf-data/event_finder.h"
#include "target-collector/intake/perf-data/recorded_code.h"
#include "target-collector/intake/perf-data/recorded_session.h"
#include "target-collector/intake/perf-data/replayed_images.h"
#include "target-collector/intake/session/sealed_rows.h"
#include "target-collector/process/chain_cache.h"
#include "target-collector/process/epoch_definitions.h"
#include "target-collector/process/process_table.h"
#include "target-collector/process/stack_resolver.h"
#include "target-collector/process/stack_unwinder.h"
#include "target-collector/process/task_rows.h"
#include "target-collector/records/record_reader.h"
#include "target-collector/records/sample_reader.h"
#include "target-collector/records/sample_rows.h"

namespace perfleet {

// An event's count since the recording began.
struct CounterReading {
    std::uint32_t cpu = 0;
    std::uint32_t pid = 0;  // ~0: all processes
    std::uint32_t tid = 0;
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
};

class RecordReplay {
public:
    // Borrows all arguments but the time.
    RecordReplay(const RecordedSession& recording, const EventFinder& events, SealedRows& rows, const ClockPoint& start,
                 const ProgramFiles& files);

    // `time`: the record's; 0 if it has none.
    void take(const RecordBytes& record, std::uint64_t time);

    void take_counter(std::uint32_t event_index, const CounterReading& reading, std::uint64_t time);

    // Counts a malformed record as lost.
    void count_malformed();
    // Samples whose call chain has more frames than the limit.
    [[nodiscard]] std::uint64_t cut_stack_count() const { return cut_stack_count_; }
    [[nodiscard]] std::uint64_t malformed_count() const { return malformed_count_; }

    // Adds the losses that are only reported at the end.
    void finish();

    // The time of the last record.
    [[nodiscard]] std::uint64_t time() const { return time_; }
    [[nodiscard]] std::uint64_t sample_count() const { return sample_count_; }
    [[nodiscard]] const ReplayedImages& images() const { return images_; }

    // Warnings about names of JIT code and missing call chains.
    [[nodiscard]] std::vector<std::string> warnings() const;

    // Content of the file that is in no row: "bit 25 of 1000 samples", "12 records of type 71 (AUXTRACE)".
    [[nodiscard]] std::vector<std::string> not_kept() const;

    // Counts a record that the caller skips.
    void skip(std::uint32_t type) { ++skipped_[type]; }

private:
    struct EventState {
        Series series;
        std::uint64_t sample_count = 0;
        std::uint64_t raw_skipped = 0;
        std::uint64_t lost_reported = 0;  // in LOST records
        std::uint64_t lost_counted = 0;   // in LOST_SAMPLES records
    };

    void begin();
    // `deferred`: the user's part of its call chain, from a record of its own; empty: none came.
    using DeferredChain = std::optional<std::span<const std::uint64_t>>;
    void take_sample(const RecordBytes& record, const DeferredChain& deferred = std::nullopt);
    void take_deferred_chain(const RecordBytes& record, const RecordLayout& layout, std::uint32_t tid);
    void complete(const std::vector<DeferredChains::Sample>& samples, std::span<const std::uint64_t> chain);
    // After stack_of(). Empty: the sample has no more than its call chain.
    [[nodiscard]] std::optional<RowDetails> details_of(const RecordBytes& record, const SampleRecord& sample,
                                                       const RecordedEvent& event) const;
    void take_side_band(const RecordBytes& record);
    void take_comm(const CommRecord& comm, TaskRow& row);
    void take_task(const TaskRecord& task, const RecordBytes& record, TaskRow& row);
    void take_mapping(MapRecord map, std::uint16_t misc, TaskRow& row);
    void take_cgroup(const CgroupRecord& cgroup, TaskRow& row);
    void append_cgroup_name(TaskRow row, std::uint64_t id, const std::string& path);
    void note_cgroup_of(const SampleRecord& sample);
    void take_namespaces(const NamespacesRecord& namespaces, TaskRow& row);
    void take_switch(const SwitchRecord& change, const RecordTrailer& trailer, TaskRow& row);
    void take_counts(const ReadRecord& counts, Ticks time);
    void take_lost(const LostRecord& lost, bool is_total, TaskRow& row);
    void take_throttle(std::uint64_t id, bool is_start, const RecordTrailer& trailer, TaskRow& row);
    [[nodiscard]] StackNumber stack_of(const RecordBytes& record, const SampleRecord& sample, Series series);
    [[nodiscard]] std::span<const std::uint64_t> words_of(const RecordBytes& record, const SampleRecord& sample,
                                                          const MappingList& mappings, Series series);
    void append(const TaskRow& row);

    // Called when an epoch has begun.
    void define_present();
    void define_modules();
    void sweep_images();

    const RecordedSession& recording_;
    const EventFinder& events_;
    SealedRows& rows_;
    DeferredChains deferred_;
    SampleReader reader_;
    ImageTable table_;
    ImageIndex unknown_image_ = 0;
    ClockPoint start_;
    ReplayedImages images_;
    RecordedCode code_;
    ProcessTable processes_;
    ChainCache chains_;
    std::optional<UnwindMachine> machine_;
    StackUnwinder unwinder_;
    StackUnwinder::Chain unwound_;
    bool is_unwound_ = false;           // the current chain is unwound from a copied stack
    bool is_unwound_to_limit_ = false;  // the current chain has more frames than the limit
    std::uint64_t cut_stack_count_ = 0;
    std::vector<std::uint64_t> deferred_words_;
    bool is_chain_missing_ = false;  // of the current sample, which was deferred and never came
    std::uint64_t missing_chain_count_ = 0;
    std::unique_ptr<ResolvedStack> resolved_;
    EpochDefinitions definitions_;
    std::vector<std::uint64_t> words_;
    std::map<std::uint64_t, std::shared_ptr<const std::string>> cgroups_;  // paths, by id
    std::vector<EventState> states_;                                       // by event
    std::unordered_map<std::uint64_t, std::uint64_t> group_counts_;        // the last READ value, by id
    std::map<std::uint32_t, std::uint64_t> skipped_;                       // records by type
    std::uint64_t sample_count_ = 0;
    std::uint64_t malformed_count_ = 0;
    std::uint64_t time_ = 0;
    bool has_branches_ = false;  // some samples have branch stacks
    bool hides_kernel_ = false;  // some samples' call chains lack the kernel's part
    bool has_begun_ = false;
};

}  // namespace perfleet
