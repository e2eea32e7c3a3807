// Converts rows into perf's records, and keeps the state that this needs: tasks, mappings, images.
//
// Most task rows only change the state: records of threads and mappings are written before the first sample that needs
// them, with its time. Rows come in order of time. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/perf-data/features.h"
#include "exporters/perf-data/record_writer.h"
#include "exporters/rows/event_table.h"
#include "exporters/rows/exported_images.h"
#include "exporters/rows/row_merge.h"
#include "exporters/rows/task_rows.h"
#include "exporters/rows/task_state.h"
#include "query-engine/statistic/counter/counters.h"
#include "storage/block/block.h"
#include "storage/dictionary/epoch_dictionary.h"

namespace perfleet {

// Records between two FINISHED_ROUND: perf sorts within two rounds and keeps them in memory.
inline constexpr std::uint64_t kRoundRecords = 16'384;
inline constexpr std::size_t kChainFramesMax = 1'024;

class RecordStream {
public:
    // `events` is borrowed. Records without an event get the id of the first.
    RecordStream(PerfRecordWriter& writer, std::span<const ExportedEvent> events) : writer_{writer}, events_{events} {}

    // Writes the epoch's kernel if it differs from that of the epochs before.
    [[nodiscard]] EpochImages begin_epoch(const EpochDictionary& dictionary, std::uint64_t time_ns);

    // `range` is that of the row's target. Losses count only in the time range.
    void task_row(const EpochImages& epoch, const MergedRow& merged, const TaskRange& range);

    // A sample or a tracepoint.
    void sample_row(const EpochImages& epoch, const MergedRow& merged, const TaskRange& range);

    // A sample of thread 0, which gets the kernel's name.
    void log_row(const MergedRow& merged, const TaskRange& range, const KernelLogSample& sample);

    // A counter row of a thread that has ended.
    void counts_row(const MergedRow& merged, const TaskRange& range);

    // The event's lost samples, of which a ring lost `unreported_count` without a kLost row. perf counts all of them
    // for each event (LOST_SAMPLES), and warns about kLost rows (LOST), which belong to a ring that events share.
    void lost_samples(const ExportedEvent& event, std::uint64_t count, std::uint64_t unreported_count,
                      std::uint64_t time_ns);

    // Drops all state of the machine's earlier run.
    void forget_tasks();

    void end_round();

    [[nodiscard]] std::uint64_t sample_count() const { return sample_count_; }
    [[nodiscard]] std::uint64_t first_sample_ns() const { return first_sample_ns_; }
    [[nodiscard]] std::uint64_t last_sample_ns() const { return last_sample_ns_; }
    [[nodiscard]] std::uint64_t lost_count() const { return lost_count_; }        // reported by kLost rows
    [[nodiscard]] std::size_t size_bytes() const { return tasks_.size_bytes(); }  // of memory, about
    [[nodiscard]] std::vector<ExportedBuildId> build_ids() const;
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

private:
    struct Trailer {
        std::uint32_t pid = 0;
        std::uint32_t tid = 0;
        std::uint64_t time_ns = 0;
        std::uint32_t cpu = 0;
    };
    void write_raw(std::string_view raw);
    void count_sample(std::uint64_t time_ns);
    void end_record(const Trailer& trailer, std::uint64_t id);
    void count_record();

    void write_comm(const Trailer& trailer, std::string_view name, bool is_exec);
    void write_fork(const Trailer& trailer, std::uint32_t parent_pid, std::uint32_t parent_tid);
    void write_mapping(const Trailer& trailer, const ExportedMapping& mapping);
    void write_mmap2(std::uint16_t mode, const Trailer& trailer, const ExportedMapping& mapping, std::string_view name);
    void write_known_mappings(const Trailer& trailer);  // of the process
    void write_kernel(ExportedImage image, std::uint64_t time_ns);
    void write_kernel_function(ExportedImage image, std::uint64_t time_ns);
    // Of the address, if perf knows one there.
    void end_kernel_function(std::uint64_t address, std::uint64_t time_ns);
    void write_kernel_symbol(ExportedImage image, std::uint16_t flags, std::uint64_t time_ns);
    void write_cgroup(const Trailer& trailer, std::uint64_t id, std::string_view path);
    void write_namespaces(const Trailer& trailer, std::string_view list);
    void write_switch(const Trailer& trailer, const Trailer& other, bool is_out, std::uint64_t flags);
    void write_lost(const Trailer& trailer, std::uint64_t id, std::uint64_t count);

    // Writes the records that perf needs before a sample: of its thread, and of the mapping of a frame.
    void write_thread(const Trailer& trailer);
    [[nodiscard]] std::uint64_t kernel_address(const Trailer& trailer, ExportedImage image, std::uint64_t offset);
    [[nodiscard]] std::uint64_t address_of(const Trailer& trailer, ExportedImage image, std::uint64_t offset);
    // Fills chain_ (leaf first, with context markers) and returns whether the leaf runs in the kernel.
    [[nodiscard]] bool build_chain(const EpochImages& epoch, const Trailer& trailer, StackNumber leaf, bool whole);

    static constexpr std::uint64_t kSideBandId = 1;

    // Uses the recorded call chain and writes the mappings in it.
    void take_chain(const Trailer& trailer, std::string_view words);

    // Fields in front of the call chain; returns their size in bytes.
    std::size_t write_fixed_fields(const ExportedEvent& event, const Trailer& trailer, std::uint64_t period,
                                   std::uint64_t ip, std::uint64_t data_address);
    std::size_t write_read(const ExportedEvent& event, const CounterTotal::Count& count);
    // Fields after RAW, empty without `details`.
    void write_details(const ExportedEvent& event, const MergedRow& merged, const DetailColumns* details);

    PerfRecordWriter& writer_;
    std::span<const ExportedEvent> events_;
    ExportedImages images_;
    TaskState tasks_;
    std::vector<bool> written_kernels_;                        // kernels and their modules that perf knows
    std::vector<bool> mapped_images_;                          // images with a mapping record
    std::vector<std::int64_t> kernel_shift_;                   // by image: distance between perf's address and its own
    std::map<std::uint64_t, ExportedImage> kernel_functions_;  // that perf knows, by address
    std::map<std::uint64_t, std::string> cgroups_;             // that were written: paths by id
    std::optional<ExportedImage> kernel_;                      // the image that perf takes for the kernel
    std::set<std::uint32_t> named_kernels_;                    // threads that stand for kernels' logs
    std::vector<std::uint64_t> chain_;
    std::uint64_t leaf_address_ = 0;
    std::map<std::uint64_t, std::uint64_t> counted_;  // by event: the value of READ
    std::uint64_t sample_count_ = 0;
    std::uint64_t first_sample_ns_ = 0;
    std::uint64_t last_sample_ns_ = 0;
    std::uint64_t lost_count_ = 0;
    std::uint64_t records_in_round_ = 0;
    bool has_round_ = false;  // perf takes a file without any record for broken
    std::vector<std::string> warnings_;
};

}  // namespace perfleet
