// Reads the ids, times and trailers of records, and all records but samples (sample_reader.h). Everything in them is
// checked against the record's own length before it is used.
//
// No heap but for namespaces; what is returned borrows the record's bytes. Empty: the record breaks its format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "target-collector/records/record_layout.h"

namespace perfleet {

// The trailer that sample_id_all puts behind every record that isn't a sample; 0 where its event has no such field.
struct RecordTrailer {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t time = 0;
    std::uint32_t cpu = 0;
    std::uint64_t id = 0;
};

struct MapRecord {  // MMAP and MMAP2
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;
    // Of MMAP2 alone: a build-id, or else the file's numbers.
    std::uint32_t protection = 0;
    std::uint32_t flags = 0;
    std::string_view build_id;
    std::uint32_t device_major = 0;
    std::uint32_t device_minor = 0;
    std::uint64_t inode = 0;
    std::uint64_t inode_generation = 0;
    std::string_view path;
};

struct CommRecord {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    bool is_exec = false;
    std::string_view name;
};

struct TaskRecord {  // FORK and EXIT
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t parent_tid = 0;
};

// Kernel code that was generated or removed at run time: a BPF program, a probe's copied instructions.
struct KernelSymbolRecord {
    std::uint64_t address = 0;
    std::uint32_t size = 0;
    bool is_removed = false;
    std::string_view name;
};

// A cgroup that was made.
struct CgroupRecord {
    std::uint64_t id = 0;
    std::string_view path;  // in its hierarchy
};

struct SwitchRecord {  // SWITCH and SWITCH_CPU_WIDE
    bool is_out = false;
    bool is_preempted = false;
    bool has_other = false;  // SWITCH_CPU_WIDE: the thread before or after it
    std::uint32_t other_pid = 0;
    std::uint32_t other_tid = 0;
};

// The count of a thread's event at its end.
struct ReadRecord {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
    std::uint64_t id = 0;
};

struct NamespacesRecord {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::vector<std::uint64_t> words;  // device and inode of each
};

struct LostRecord {  // LOST and LOST_SAMPLES
    std::uint64_t id = 0;
    std::uint64_t record_count = 0;
};

// Where the event has them in its samples, and in the trailers of its other records.
[[nodiscard]] std::optional<std::uint64_t> record_id(const RecordBytes& record, const RecordLayout& layout);
[[nodiscard]] std::optional<std::uint64_t> record_time(const RecordBytes& record, const RecordLayout& layout);

// Of records that aren't samples.
[[nodiscard]] std::optional<RecordTrailer> read_trailer(const RecordBytes& record, const RecordLayout& layout);
// Between header and trailer.
[[nodiscard]] std::span<const std::byte> record_body(const RecordBytes& record, const RecordLayout& layout);
[[nodiscard]] std::optional<MapRecord> read_map(const RecordBytes& record, const RecordLayout& layout);
[[nodiscard]] std::optional<CommRecord> read_comm(const RecordBytes& record, const RecordLayout& layout);
[[nodiscard]] std::optional<TaskRecord> read_task(const RecordBytes& record, const RecordLayout& layout);
[[nodiscard]] std::optional<KernelSymbolRecord> read_kernel_symbol(const RecordBytes& record,
                                                                   const RecordLayout& layout);
[[nodiscard]] std::optional<CgroupRecord> read_cgroup(const RecordBytes& record, const RecordLayout& layout);
[[nodiscard]] std::optional<SwitchRecord> read_switch(const RecordBytes& record, const RecordLayout& layout);
// Empty for counts of a group, too.
[[nodiscard]] std::optional<ReadRecord> read_counts(const RecordBytes& record, const RecordLayout& layout);
[[nodiscard]] std::optional<NamespacesRecord> read_namespaces(const RecordBytes& record, const RecordLayout& layout);
[[nodiscard]] std::optional<LostRecord> read_lost(const RecordBytes& record, const RecordLayout& layout);
[[nodiscard]] std::optional<std::uint64_t> read_throttle_id(const RecordBytes& record, const RecordLayout& layout);

}  // namespace perfleet
