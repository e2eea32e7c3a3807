// A sample of the Linux source: a record, with data of a BPF program in its raw part (bpf/unwind_layout.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "target-collector/records/sample_reader.h"

namespace perfleet {

// The fields at the same place in all records of the source (perf_attr.h).
inline constexpr RecordLayout kCommonLayout{.sample_type = perf::sample_type::kIdentifier | perf::sample_type::kIp |
                                                           perf::sample_type::kTid | perf::sample_type::kTime |
                                                           perf::sample_type::kCpu};

// An OffCpuTracer's data about a thread that is back on a CPU.
struct OffCpuTime {
    std::uint64_t blocked_ns = 0;  // 0: no row
    std::uint64_t runnable_ns = 0;
    std::uint32_t waker_tid = 0;
    std::string_view waker;  // its name
};

struct SourceSample : SampleRecord {
    bool is_unwound = false;                    // by a BPF program:
    std::uint32_t unwound_end = 0;              // UnwindEnd
    std::span<const std::uint64_t> user_chain;  // the leaf first
    OffCpuTime off_cpu;
};

// Parses a BPF program's raw data, including the period. False: malformed.
[[nodiscard]] bool take_unwound(SourceSample& sample, bool is_off_cpu);

}  // namespace perfleet
