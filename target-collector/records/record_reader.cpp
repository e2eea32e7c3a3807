#include "target-collector/records/record_reader.h"

#include <algorithm>
#include <bit>

#include "target-collector/records/byte_cursor.h"

namespace perfleet {
namespace {

namespace type = perf::sample_type;
constexpr std::size_t kHeaderSizeBytes = sizeof(perf::RecordHeader);
constexpr std::uint64_t kTrailerFields =
    type::kTid | type::kTime | type::kId | type::kStreamId | type::kCpu | type::kIdentifier;

// Each of these fields is a word of 8.
std::size_t fields_size_bytes(const RecordLayout& layout, std::uint64_t fields) {
    return static_cast<std::size_t>(std::popcount(layout.sample_type & fields)) * 8;
}

std::size_t trailer_size_bytes(const RecordLayout& layout) {
    return layout.has_trailers ? fields_size_bytes(layout, kTrailerFields) : 0;
}

std::optional<std::uint64_t> word_at(const RecordBytes& record, std::size_t at, bool is_foreign) {
    ByteCursor cursor{record.bytes, is_foreign};
    cursor.skip(at);
    const std::uint64_t value = cursor.u64();
    return cursor.failed() ? std::nullopt : std::optional{value};
}

// A word of a sample, behind those of the fields in `before`.
std::optional<std::uint64_t> sample_word(const RecordBytes& record, const RecordLayout& layout, std::uint64_t before) {
    return word_at(record, kHeaderSizeBytes + fields_size_bytes(layout, before), layout.is_foreign);
}

// A word of a trailer, where those of the fields in `from` begin.
std::optional<std::uint64_t> trailer_word(const RecordBytes& record, const RecordLayout& layout, std::uint64_t from) {
    const std::size_t size = fields_size_bytes(layout, from);
    return !layout.has_trailers || record.bytes.size() < kHeaderSizeBytes + size
               ? std::nullopt
               : word_at(record, record.bytes.size() - size, layout.is_foreign);
}

ByteCursor cursor_of(const RecordBytes& record, const RecordLayout& layout) {
    return ByteCursor{record_body(record, layout), layout.is_foreign};
}

// Text that nothing follows; there is at least its NUL.
std::string_view last_text(ByteCursor& cursor) {
    if (cursor.rest().empty()) {
        cursor.skip(1);
    }
    return cursor.text();
}

template <class Record>
std::optional<Record> if_whole(const ByteCursor& cursor, const Record& record) {
    return cursor.failed() ? std::nullopt : std::optional{record};
}

}  // namespace

std::optional<std::uint64_t> record_id(const RecordBytes& record, const RecordLayout& layout) {
    const bool is_sample = record.is(perf::RecordType::kSample);
    if (layout.has(type::kIdentifier)) {
        return is_sample ? sample_word(record, layout, 0) : trailer_word(record, layout, type::kIdentifier);
    }
    if (!layout.has(type::kId)) {
        return std::nullopt;
    }
    return is_sample ? sample_word(record, layout, type::kIp | type::kTid | type::kTime | type::kAddr)
                     : trailer_word(record, layout, type::kId | type::kStreamId | type::kCpu);
}

std::optional<std::uint64_t> record_time(const RecordBytes& record, const RecordLayout& layout) {
    if (!layout.has(type::kTime)) {
        return std::nullopt;
    }
    return record.is(perf::RecordType::kSample)
               ? sample_word(record, layout, type::kIdentifier | type::kIp | type::kTid)
               : trailer_word(record, layout, kTrailerFields & ~type::kTid);
}

std::optional<RecordTrailer> read_trailer(const RecordBytes& record, const RecordLayout& layout) {
    const std::size_t size_bytes = trailer_size_bytes(layout);
    if (record.bytes.size() < kHeaderSizeBytes + size_bytes) {
        return std::nullopt;
    }
    RecordTrailer trailer;
    if (size_bytes == 0) {
        return trailer;
    }
    ByteCursor cursor{record.bytes.last(size_bytes), layout.is_foreign};
    if (layout.has(type::kTid)) {
        cursor.read(trailer.pid, trailer.tid);
    }
    trailer.time = layout.has(type::kTime) ? cursor.u64() : 0;
    trailer.id = layout.has(type::kId) ? cursor.u64() : 0;
    cursor.skip(layout.has(type::kStreamId) ? 8 : 0);
    if (layout.has(type::kCpu)) {
        trailer.cpu = cursor.u32();
        cursor.skip(4);
    }
    trailer.id = layout.has(type::kIdentifier) ? cursor.u64() : trailer.id;
    return trailer;
}

std::span<const std::byte> record_body(const RecordBytes& record, const RecordLayout& layout) {
    const std::size_t around = kHeaderSizeBytes + trailer_size_bytes(layout);
    return record.bytes.size() < around ? std::span<const std::byte>{}
                                        : record.bytes.subspan(kHeaderSizeBytes, record.bytes.size() - around);
}

std::optional<MapRecord> read_map(const RecordBytes& record, const RecordLayout& layout) {
    constexpr std::size_t kIdentityBytes = 24;
    constexpr std::size_t kBuildIdAt = 4;
    ByteCursor cursor = cursor_of(record, layout);
    MapRecord map;
    cursor.read(map.pid, map.tid, map.address, map.size, map.file_offset);
    if (record.is(perf::RecordType::kMmap2)) {
        const auto identity = cursor.bytes(kIdentityBytes);
        if ((record.misc & perf::misc::kMmapBuildId) != 0 && !identity.empty()) {
            const auto size = std::min(std::to_integer<std::size_t>(identity[0]), kIdentityBytes - kBuildIdAt);
            map.build_id = {reinterpret_cast<const char*>(identity.data()) + kBuildIdAt, size};
        } else {
            ByteCursor numbers{identity, layout.is_foreign};
            numbers.read(map.device_major, map.device_minor, map.inode, map.inode_generation);
        }
        cursor.read(map.protection, map.flags);
    }
    map.path = last_text(cursor);
    return if_whole(cursor, map);
}

std::optional<CommRecord> read_comm(const RecordBytes& record, const RecordLayout& layout) {
    ByteCursor cursor = cursor_of(record, layout);
    CommRecord comm;
    comm.is_exec = (record.misc & perf::misc::kCommExec) != 0;
    cursor.read(comm.pid, comm.tid);
    comm.name = last_text(cursor);
    return if_whole(cursor, comm);
}

std::optional<TaskRecord> read_task(const RecordBytes& record, const RecordLayout& layout) {
    ByteCursor cursor = cursor_of(record, layout);
    TaskRecord task;
    cursor.read(task.pid, task.parent_pid, task.tid, task.parent_tid);
    return if_whole(cursor, task);
}

std::optional<KernelSymbolRecord> read_kernel_symbol(const RecordBytes& record, const RecordLayout& layout) {
    constexpr std::uint16_t kUnregister = 1;
    ByteCursor cursor = cursor_of(record, layout);
    KernelSymbolRecord symbol;
    cursor.read(symbol.address, symbol.size);
    cursor.skip(sizeof(std::uint16_t));  // its type
    symbol.is_removed = (cursor.u16() & kUnregister) != 0;
    symbol.name = last_text(cursor);
    return if_whole(cursor, symbol);
}

std::optional<CgroupRecord> read_cgroup(const RecordBytes& record, const RecordLayout& layout) {
    ByteCursor cursor = cursor_of(record, layout);
    CgroupRecord cgroup;
    cgroup.id = cursor.u64();
    cgroup.path = last_text(cursor);
    return if_whole(cursor, cgroup);
}

std::optional<SwitchRecord> read_switch(const RecordBytes& record, const RecordLayout& layout) {
    ByteCursor cursor = cursor_of(record, layout);
    SwitchRecord change;
    change.is_out = (record.misc & perf::misc::kSwitchOut) != 0;
    change.is_preempted = (record.misc & perf::misc::kSwitchOutPreempt) != 0;
    change.has_other = record.is(perf::RecordType::kSwitchCpuWide);
    if (change.has_other) {
        cursor.read(change.other_pid, change.other_tid);
    }
    return if_whole(cursor, change);
}

std::optional<ReadRecord> read_counts(const RecordBytes& record, const RecordLayout& layout) {
    namespace format = perf::read_format;
    ByteCursor cursor = cursor_of(record, layout);
    const auto has = [&](std::uint64_t field) { return (layout.read_format & field) != 0; };
    ReadRecord counts;
    cursor.read(counts.pid, counts.tid, counts.value);
    counts.enabled_ns = has(format::kTimeEnabled) ? cursor.u64() : 0;
    counts.running_ns = has(format::kTimeRunning) ? cursor.u64() : 0;
    counts.id = has(format::kId) ? cursor.u64() : record_id(record, layout).value_or(0);
    return has(format::kGroup) ? std::nullopt : if_whole(cursor, counts);
}

std::optional<NamespacesRecord> read_namespaces(const RecordBytes& record, const RecordLayout& layout) {
    constexpr std::uint64_t kNamespacesMax = 64;  // Linux has 8
    ByteCursor cursor = cursor_of(record, layout);
    NamespacesRecord namespaces;
    cursor.read(namespaces.pid, namespaces.tid);
    namespaces.words.resize(2 * std::min(cursor.u64(), kNamespacesMax));
    for (std::uint64_t& word : namespaces.words) {
        word = cursor.u64();
    }
    return if_whole(cursor, namespaces);
}

std::optional<LostRecord> read_lost(const RecordBytes& record, const RecordLayout& layout) {
    ByteCursor cursor = cursor_of(record, layout);
    LostRecord lost;
    lost.id = record.is(perf::RecordType::kLostSamples) ? record_id(record, layout).value_or(0) : cursor.u64();
    lost.record_count = cursor.u64();
    return if_whole(cursor, lost);
}

std::optional<std::uint64_t> read_throttle_id(const RecordBytes& record, const RecordLayout& layout) {
    ByteCursor cursor = cursor_of(record, layout);
    cursor.skip(8);
    return if_whole(cursor, cursor.u64());
}

}  // namespace perfleet
