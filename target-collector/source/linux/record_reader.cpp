#include "target-collector/source/linux/record_reader.h"

#include <cstring>

namespace perfleet {
namespace {

constexpr std::size_t kHeaderSizeBytes = sizeof(perf::RecordHeader);
constexpr std::size_t kTrailerSizeBytes = 32;
// Of a sample: identifier, ip, pid and tid, time, cpu.
constexpr std::size_t kSampleIdAt = kHeaderSizeBytes;
constexpr std::size_t kSampleTimeAt = kHeaderSizeBytes + 24;
constexpr std::size_t kSampleFixedBytes = kHeaderSizeBytes + 40;

template <class T>
T load(std::span<const std::byte> record, std::size_t at) {
    T value;
    std::memcpy(&value, record.data() + at, sizeof(T));
    return value;
}

// The part of a record before the trailer; empty when it is shorter than `body_size_bytes_min` behind the header.
std::span<const std::byte> body_of(std::span<const std::byte> record, std::size_t body_size_bytes_min) {
    if (record.size() < kHeaderSizeBytes + body_size_bytes_min + kTrailerSizeBytes) {
        return {};
    }
    return record.first(record.size() - kTrailerSizeBytes);
}

// Text that ends at a NUL or at the end of the bytes.
std::string_view text_at(std::span<const std::byte> body, std::size_t at) {
    const auto* const text = reinterpret_cast<const char*>(body.data() + at);
    return {text, ::strnlen(text, body.size() - at)};
}

// At the end of a sample: ABI, registers; size, bytes, how many of them the kernel has written.
bool read_user_stack(std::span<const std::byte> record, std::size_t at, std::size_t register_count, UserStack& stack) {
    constexpr std::uint64_t kAbi32 = 1;
    std::span<const std::byte> rest = record.subspan(at);
    const auto take = [&rest]() -> std::optional<std::uint64_t> {
        if (rest.size() < sizeof(std::uint64_t)) {
            return std::nullopt;
        }
        const auto value = load<std::uint64_t>(rest, 0);
        rest = rest.subspan(sizeof(value));
        return value;
    };
    const auto abi = take();
    for (std::size_t i = 0; abi.value_or(0) != 0 && i < register_count; ++i) {
        const auto value = take();
        if (!value || i >= UserStack::kRegistersMax) {
            return false;
        }
        stack.registers[i] = *value;
    }
    const auto size = take();
    if (!abi || !size || *size > rest.size()) {
        return false;
    }
    stack.has_registers = *abi != 0;
    stack.is_32_bit = *abi == kAbi32;
    if (*size == 0) {
        return true;
    }
    const std::span<const std::byte> bytes = rest.first(static_cast<std::size_t>(*size));
    rest = rest.subspan(bytes.size());
    const auto written = take();
    if (!written || *written > bytes.size()) {
        return false;
    }
    stack.bytes = bytes.first(static_cast<std::size_t>(*written));
    stack.is_cut = *written == *size;
    return true;
}

constexpr std::uint32_t kEndCopy = 4;  // of bpf/unwind_walk.bpf.h: there is no chain, but a copy of the stack

// What a BPF program has emitted (bpf/unwind_layout.h: unwind_sample, from `status` on); its words are aligned.
bool read_unwound(std::span<const std::byte> raw, SampleRecord& sample) {
    constexpr std::size_t kWordsAt = 12;
    if (raw.size() < kWordsAt) {
        return false;
    }
    sample.unwound_end = load<std::uint32_t>(raw, 0);
    sample.period = load<std::uint64_t>(raw, 4);
    sample.user_chain = {reinterpret_cast<const std::uint64_t*>(raw.data() + kWordsAt), (raw.size() - kWordsAt) / 8};
    return true;
}

// What stands before (bpf/unwind_layout.h: off_cpu_head, without its first word).
bool take_off_cpu(std::span<const std::byte>& raw, OffCpuTime& time) {
    constexpr std::size_t kNameAt = 20;
    constexpr std::size_t kNameBytes = 16;
    constexpr std::size_t kHeadBytes = kNameAt + kNameBytes;
    if (raw.size() < kHeadBytes + sizeof(std::uint32_t)) {
        return false;
    }
    time.waker_tid = load<std::uint32_t>(raw, 0);
    time.blocked_ns = load<std::uint64_t>(raw, 4);
    time.runnable_ns = load<std::uint64_t>(raw, 12);
    time.waker = text_at(raw.first(kHeadBytes), kNameAt);
    raw = raw.subspan(kHeadBytes + sizeof(std::uint32_t));
    return true;
}

}  // namespace

perf::RecordHeader record_header(std::span<const std::byte> record) { return load<perf::RecordHeader>(record, 0); }

std::optional<std::uint64_t> record_time(std::span<const std::byte> record) {
    if (record_header(record).type == static_cast<std::uint32_t>(perf::RecordType::kSample)) {
        if (record.size() < kSampleFixedBytes) {
            return std::nullopt;
        }
        return load<std::uint64_t>(record, kSampleTimeAt);
    }
    if (record.size() < kHeaderSizeBytes + kTrailerSizeBytes) {
        return std::nullopt;
    }
    return load<std::uint64_t>(record, record.size() - kTrailerSizeBytes + 8);
}

std::optional<std::uint64_t> sample_id(std::span<const std::byte> record) {
    if (record.size() < kSampleFixedBytes) {
        return std::nullopt;
    }
    return load<std::uint64_t>(record, kSampleIdAt);
}

std::optional<SampleRecord> read_sample(std::span<const std::byte> record, const SampleFields& fields) {
    if (record.size() < kSampleFixedBytes) {
        return std::nullopt;
    }
    SampleRecord sample;
    sample.is_kernel = (record_header(record).misc & perf::misc::kCpumodeMask) == perf::misc::kKernel;
    sample.id = load<std::uint64_t>(record, kSampleIdAt);
    sample.ip = load<std::uint64_t>(record, kHeaderSizeBytes + 8);
    sample.pid = load<std::uint32_t>(record, kHeaderSizeBytes + 16);
    sample.tid = load<std::uint32_t>(record, kHeaderSizeBytes + 20);
    sample.time = load<std::uint64_t>(record, kSampleTimeAt);
    std::size_t at = kSampleFixedBytes;
    if (fields.cgroup) {  // the last field of ours
        if (record.size() - at < 8) {
            return std::nullopt;
        }
        sample.cgroup = load<std::uint64_t>(record, record.size() - 8);
        record = record.first(record.size() - 8);
    }
    if (fields.period && !fields.unwound) {
        if (record.size() - at < 8) {
            return std::nullopt;
        }
        sample.period = load<std::uint64_t>(record, at);
        at += 8;
    }
    if (fields.group_count_words > 0) {
        constexpr std::size_t kHeaderBytes = 24;  // events, time enabled, time running
        const std::size_t each = fields.group_count_words * std::size_t{8};
        if (record.size() - at < kHeaderBytes) {
            return std::nullopt;
        }
        const auto count = load<std::uint64_t>(record, at);
        at += kHeaderBytes;
        if (count > (record.size() - at) / each) {
            return std::nullopt;
        }
        sample.group_counts = {reinterpret_cast<const std::uint64_t*>(record.data() + at),
                               static_cast<std::size_t>(count) * fields.group_count_words};
        at += static_cast<std::size_t>(count) * each;
    }
    if (fields.callchain) {
        if (record.size() - at < 8) {
            return std::nullopt;
        }
        const auto count = load<std::uint64_t>(record, at);
        at += 8;
        if (count > (record.size() - at) / 8) {
            return std::nullopt;
        }
        // Records are aligned to 8, and so is everything before the chain.
        sample.callchain = {reinterpret_cast<const std::uint64_t*>(record.data() + at),
                            static_cast<std::size_t>(count)};
        at += static_cast<std::size_t>(count) * 8;
    }
    if (fields.raw) {
        if (record.size() - at < 4) {
            return std::nullopt;
        }
        const auto size = load<std::uint32_t>(record, at);
        at += 4;
        if (size > record.size() - at) {
            return std::nullopt;
        }
        sample.raw = record.subspan(at, size);
        at += size;
    }
    if (fields.unwound) {
        if ((fields.off_cpu && !take_off_cpu(sample.raw, sample.off_cpu)) || !read_unwound(sample.raw, sample)) {
            return std::nullopt;
        }
        sample.raw = {};
        sample.is_unwound = sample.unwound_end != kEndCopy;
    }
    if (fields.user_register_count > 0 && !read_user_stack(record, at, fields.user_register_count, sample.user_stack)) {
        return std::nullopt;
    }
    return sample;
}

std::optional<RecordTrailer> read_trailer(std::span<const std::byte> record) {
    if (record.size() < kHeaderSizeBytes + kTrailerSizeBytes) {
        return std::nullopt;
    }
    const std::size_t at = record.size() - kTrailerSizeBytes;
    RecordTrailer trailer;
    trailer.pid = load<std::uint32_t>(record, at);
    trailer.tid = load<std::uint32_t>(record, at + 4);
    trailer.time = load<std::uint64_t>(record, at + 8);
    trailer.cpu = load<std::uint32_t>(record, at + 16);
    trailer.id = load<std::uint64_t>(record, at + 24);
    return trailer;
}

std::optional<MapRecord> read_mmap2(std::span<const std::byte> record) {
    constexpr std::size_t kPathAt = kHeaderSizeBytes + 64;
    const std::span<const std::byte> body = body_of(record, 64 + 1);
    if (body.empty()) {
        return std::nullopt;
    }
    MapRecord map;
    map.pid = load<std::uint32_t>(body, 8);
    map.tid = load<std::uint32_t>(body, 12);
    map.address = load<std::uint64_t>(body, 16);
    map.size = load<std::uint64_t>(body, 24);
    map.file_offset = load<std::uint64_t>(body, 32);
    // Not a build-id, whatever the record's misc bits say: Linux 6.18 sets the bit for everybody when anybody asks for
    // build-ids, and we don't.
    map.device_major = load<std::uint32_t>(body, 40);
    map.device_minor = load<std::uint32_t>(body, 44);
    map.inode = load<std::uint64_t>(body, 48);
    map.inode_generation = load<std::uint64_t>(body, 56);
    map.protection = load<std::uint32_t>(body, 64);
    map.flags = load<std::uint32_t>(body, 68);
    map.path = text_at(body, kPathAt);
    return map;
}

std::optional<CommRecord> read_comm(std::span<const std::byte> record) {
    const std::span<const std::byte> body = body_of(record, 8 + 1);
    if (body.empty()) {
        return std::nullopt;
    }
    CommRecord comm;
    comm.is_exec = (record_header(record).misc & perf::misc::kCommExec) != 0;
    comm.pid = load<std::uint32_t>(body, 8);
    comm.tid = load<std::uint32_t>(body, 12);
    comm.name = text_at(body, 16);
    return comm;
}

std::optional<TaskRecord> read_task(std::span<const std::byte> record) {
    const std::span<const std::byte> body = body_of(record, 24);
    if (body.empty()) {
        return std::nullopt;
    }
    TaskRecord task;
    task.pid = load<std::uint32_t>(body, 8);
    task.parent_pid = load<std::uint32_t>(body, 12);
    task.tid = load<std::uint32_t>(body, 16);
    task.parent_tid = load<std::uint32_t>(body, 20);
    return task;
}

std::optional<CgroupRecord> read_cgroup(std::span<const std::byte> record) {
    const std::span<const std::byte> body = body_of(record, 8 + 1);
    if (body.empty()) {
        return std::nullopt;
    }
    return CgroupRecord{load<std::uint64_t>(body, 8), text_at(body, 16)};
}

std::optional<LostRecord> read_lost(std::span<const std::byte> record) {
    const std::span<const std::byte> body = body_of(record, 16);
    if (body.empty()) {
        return std::nullopt;
    }
    return LostRecord{load<std::uint64_t>(body, 8), load<std::uint64_t>(body, 16)};
}

std::optional<std::uint64_t> read_throttle_id(std::span<const std::byte> record) {
    const std::span<const std::byte> body = body_of(record, 24);
    if (body.empty()) {
        return std::nullopt;
    }
    return load<std::uint64_t>(body, 16);
}

}  // namespace perfleet
