// Reads the kernel's records. Everything in them is checked against the record's own length before it is used.
//
// No heap; what is returned borrows the record's bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "schemas/perf/perf_event.h"

namespace perfleet {

// Which of a sample's optional fields an event has.
struct SampleFields {
    bool period = false;
    bool callchain = false;
    bool raw = false;
    bool unwound = false;                  // `raw` is what a BPF program says of it: how the walk ended, period, chain
    bool off_cpu = false;                  // before that it says how long the thread was away
    std::uint8_t user_register_count = 0;  // with a copy of the user's stack; 0: neither
    std::uint8_t group_count_words = 0;    // for each event of its group: value, id and, if counted, lost; 0: no counts
    bool cgroup = false;
};

// The user's registers in the order of their numbers, and what the kernel has copied of the stack.
struct UserStack {
    static constexpr std::size_t kRegistersMax = 4;

    bool has_registers = false;  // false: of a kernel's thread
    bool is_32_bit = false;
    std::array<std::uint64_t, kRegistersMax> registers{};
    std::span<const std::byte> bytes;  // from the stack pointer on
    bool is_cut = false;               // the stack may go on behind them
};

// What an OffCpuTracer says of a thread that has come back to a CPU.
struct OffCpuTime {
    std::uint64_t blocked_ns = 0;  // 0: no row
    std::uint64_t runnable_ns = 0;
    std::uint32_t waker_tid = 0;
    std::string_view waker;  // its name
};

struct SampleRecord {
    std::uint64_t id = 0;
    std::uint64_t ip = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t time = 0;
    std::uint64_t period = 0;
    bool is_kernel = false;                    // where ip is
    std::span<const std::uint64_t> callchain;  // with context markers, the leaf first
    std::span<const std::byte> raw;
    UserStack user_stack;
    bool is_unwound = false;                      // by a BPF program:
    std::uint32_t unwound_end = 0;                // UnwindEnd
    std::span<const std::uint64_t> user_chain;    // the leaf first
    std::span<const std::uint64_t> group_counts;  // group_count_words for each event
    OffCpuTime off_cpu;
    std::uint64_t cgroup = 0;  // its id, of the hierarchy that perf_event is in; 0: the kernel doesn't say
};

// The trailer that sample_id_all puts behind every record that isn't a sample.
struct RecordTrailer {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t time = 0;
    std::uint32_t cpu = 0;
    std::uint64_t id = 0;
};

struct MapRecord {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;
    std::uint32_t protection = 0;
    std::uint32_t flags = 0;
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

// A cgroup that was made.
struct CgroupRecord {
    std::uint64_t id = 0;
    std::string_view path;  // in its hierarchy
};

struct LostRecord {
    std::uint64_t id = 0;
    std::uint64_t record_count = 0;
};

[[nodiscard]] perf::RecordHeader record_header(std::span<const std::byte> record);

// When the record was made; empty when it is too short to say.
[[nodiscard]] std::optional<std::uint64_t> record_time(std::span<const std::byte> record);

// The event that a sample belongs to, which says what fields it has.
[[nodiscard]] std::optional<std::uint64_t> sample_id(std::span<const std::byte> record);

// Empty: the record breaks its format.
[[nodiscard]] std::optional<SampleRecord> read_sample(std::span<const std::byte> record, const SampleFields& fields);
[[nodiscard]] std::optional<RecordTrailer> read_trailer(std::span<const std::byte> record);
[[nodiscard]] std::optional<MapRecord> read_mmap2(std::span<const std::byte> record);
[[nodiscard]] std::optional<CommRecord> read_comm(std::span<const std::byte> record);
[[nodiscard]] std::optional<TaskRecord> read_task(std::span<const std::byte> record);
[[nodiscard]] std::optional<CgroupRecord> read_cgroup(std::span<const std::byte> record);
[[nodiscard]] std::optional<LostRecord> read_lost(std::span<const std::byte> record);
[[nodiscard]] std::optional<std::uint64_t> read_throttle_id(std::span<const std::byte> record);

}  // namespace perfleet
