#include "target-collector/records/record_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "target-collector/records/sample_reader.h"

namespace perfleet {
namespace {

namespace type = perf::sample_type;
constexpr RecordLayout kLayout{.sample_type = type::kIdentifier | type::kIp | type::kTid | type::kTime | type::kCpu};

RecordLayout with(std::uint64_t fields) {
    RecordLayout layout = kLayout;
    layout.sample_type |= fields;
    layout.sample_regs_user = (fields & type::kRegsUser) != 0 ? 7 : 0;
    return layout;
}

std::optional<SampleRecord> read_sample(SampleReader& reader, std::span<const std::byte> bytes, std::uint64_t fields) {
    return reader.read(native_record(bytes), with(fields));
}

// Puts a record together word by word, as the kernel lays it out.
class RecordWriter {
public:
    RecordWriter(perf::RecordType type, std::uint16_t misc) {
        const perf::RecordHeader header{static_cast<std::uint32_t>(type), misc, 0};
        put(header);
    }
    template <class T>
    RecordWriter& put(const T& value) {
        const std::size_t at = bytes_.size();
        bytes_.resize(at + sizeof(T));
        std::memcpy(bytes_.data() + at, &value, sizeof(T));
        return *this;
    }
    RecordWriter& u64(std::uint64_t value) { return put(value); }
    RecordWriter& u32(std::uint32_t value) { return put(value); }
    RecordWriter& text(std::string_view value) {
        for (const char c : value) {
            put(c);
        }
        do {
            put('\0');
        } while (bytes_.size() % 8 != 0);
        return *this;
    }
    RecordWriter& trailer(std::uint32_t pid, std::uint32_t tid, std::uint64_t time, std::uint32_t cpu,
                          std::uint64_t id) {
        return u32(pid).u32(tid).u64(time).u32(cpu).u32(0).u64(id);
    }
    [[nodiscard]] std::vector<std::byte> take() {
        const auto size = static_cast<std::uint16_t>(bytes_.size());
        std::memcpy(bytes_.data() + 6, &size, sizeof(size));
        return bytes_;
    }

private:
    std::vector<std::byte> bytes_;
};

std::vector<std::byte> full_sample() {
    return RecordWriter(perf::RecordType::kSample, perf::misc::kKernel)
        .u64(42)                  // identifier
        .u64(0xffffffff81000123)  // ip
        .u32(7)
        .u32(8)
        .u64(1'000)
        .u32(3)
        .u32(0)
        .u64(5)  // period
        .u64(2)  // call chain
        .u64(perf::context::kKernel)
        .u64(0xffffffff81000123)
        .u32(4)  // raw
        .put(std::array<char, 4>{'a', 'b', 'c', 'd'})
        .take();
}

std::vector<std::byte> sample_with_stack(std::uint64_t abi, std::uint64_t written) {
    RecordWriter writer(perf::RecordType::kSample, 0);
    writer.u64(42).u64(0x4000).u32(7).u32(8).u64(1'000).u32(3).u32(0).u64(abi);
    for (std::uint64_t i = 0; i < 3 && abi != 0; ++i) {
        writer.u64(0x100 + i);
    }
    return writer.u64(16).u64(0xaa).u64(0xbb).u64(written).take();
}

TEST(RecordReader, ReadsCgroups) {
    SampleReader reader;
    RecordWriter writer(perf::RecordType::kSample, 0);
    writer.u64(42).u64(0x4000).u32(7).u32(8).u64(1'000).u32(3).u32(0);
    const auto without = writer.take();
    EXPECT_FALSE(read_sample(reader, without, type::kCgroup));
    const auto record = writer.u64(1).u64(0x4000).u64(77).take();
    const auto sample = read_sample(reader, record, type::kCallchain | type::kCgroup);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->cgroup, 77U);
    EXPECT_EQ(sample->callchain.size(), 1U);

    const auto made =
        RecordWriter(perf::RecordType::kCgroup, 0).u64(77).text("/a.slice/b").trailer(1, 1, 9, 0, 42).take();
    const auto cgroup = read_cgroup(native_record(made), kLayout);
    ASSERT_TRUE(cgroup);
    EXPECT_EQ(cgroup->id, 77U);
    EXPECT_EQ(cgroup->path, "/a.slice/b");
    const auto nameless = RecordWriter(perf::RecordType::kCgroup, 0).u64(77).trailer(1, 1, 9, 0, 42).take();
    EXPECT_FALSE(read_cgroup(native_record(nameless), kLayout));
}

constexpr std::uint64_t kStack = type::kRegsUser | type::kStackUser;

TEST(RecordReader, ReadsTheUsersRegistersAndStack) {
    SampleReader reader;
    const auto record = sample_with_stack(2, 8);
    const auto sample = read_sample(reader, record, kStack);
    ASSERT_TRUE(sample.has_value());
    EXPECT_EQ(std::vector(sample->registers.begin(), sample->registers.end()),
              (std::vector<std::uint64_t>{0x100, 0x101, 0x102}));
    ASSERT_EQ(sample->stack.size(), 8U);
    EXPECT_EQ(sample->stack[0], std::byte{0xaa});
    EXPECT_FALSE(sample->is_stack_cut);
    EXPECT_FALSE(sample->is_32_bit);
    EXPECT_EQ(sample->user_registers.size(), 4U);
    const auto full = sample_with_stack(2, 16);
    EXPECT_TRUE(read_sample(reader, full, kStack)->is_stack_cut);
    EXPECT_TRUE(read_sample(reader, sample_with_stack(1, 16), kStack)->is_32_bit);
    const auto of_kernel_thread = sample_with_stack(0, 16);
    ASSERT_TRUE(read_sample(reader, of_kernel_thread, kStack).has_value());
    EXPECT_TRUE(read_sample(reader, of_kernel_thread, kStack)->registers.empty());
}

TEST(RecordReader, RefusesABrokenCopyOfTheStack) {
    SampleReader reader;
    const auto whole = sample_with_stack(2, 16);
    for (std::size_t size = sizeof(perf::RecordHeader); size < whole.size(); ++size) {
        EXPECT_FALSE(read_sample(reader, std::span{whole}.first(size), kStack).has_value()) << size;
    }
    EXPECT_EQ(read_sample(reader, sample_with_stack(2, 17), kStack)->stack.size(), 16U);
}

constexpr std::uint64_t kAll = type::kPeriod | type::kCallchain | type::kRaw;

TEST(RecordReader, ReadsASample) {
    SampleReader reader;
    const auto record = full_sample();
    EXPECT_EQ(record_time(native_record(record), kLayout), 1'000U);
    EXPECT_EQ(record_id(native_record(record), kLayout), 42U);
    const auto sample = read_sample(reader, record, kAll);
    ASSERT_TRUE(sample.has_value());
    EXPECT_EQ(sample->ip, 0xffffffff81000123U);
    EXPECT_EQ(sample->pid, 7U);
    EXPECT_EQ(sample->tid, 8U);
    EXPECT_EQ(sample->period, 5U);
    EXPECT_TRUE(sample->is_kernel);
    ASSERT_EQ(sample->callchain.size(), 2U);
    EXPECT_EQ(sample->callchain[1], 0xffffffff81000123U);
    EXPECT_EQ(std::memcmp(sample->raw.data(), "abcd", 4), 0);
    EXPECT_EQ(sample->raw.size(), 4U);
}

TEST(RecordReader, RefusesASampleAtEveryTruncation) {
    SampleReader reader;
    const auto record = full_sample();
    for (std::size_t size = sizeof(perf::RecordHeader); size < record.size(); ++size) {
        EXPECT_FALSE(read_sample(reader, std::span(record).first(size), kAll).has_value()) << size;
    }
}

TEST(RecordReader, RefusesLengthsBeyondTheRecord) {
    SampleReader reader;
    auto record = full_sample();
    const std::uint64_t frames = ~0ULL / 8;
    std::memcpy(record.data() + 56, &frames, sizeof(frames));
    EXPECT_FALSE(read_sample(reader, record, kAll).has_value());
    record = full_sample();
    const std::uint32_t raw_size = 5;
    std::memcpy(record.data() + record.size() - 8, &raw_size, sizeof(raw_size));
    EXPECT_FALSE(read_sample(reader, record, kAll).has_value());
}

TEST(RecordReader, ReadsMappingsWithTheirFile) {
    for (const std::uint16_t misc : {perf::misc::kUser, std::uint16_t{perf::misc::kUser | perf::misc::kMmapBuildId}}) {
        const auto record = RecordWriter(perf::RecordType::kMmap2, misc)
                                .u32(10)
                                .u32(11)
                                .u64(0x1000)
                                .u64(0x2000)
                                .u64(0x3000)
                                .u32(254)
                                .u32(1)
                                .u64(1234)
                                .u64(0x8765'4321)
                                .u32(5)
                                .u32(2)
                                .text("/usr/bin/x")
                                .trailer(10, 11, 77, 1, 9)
                                .take();
        const auto map = read_map(native_record(record), kLayout);
        ASSERT_TRUE(map.has_value());
        EXPECT_EQ(map->pid, 10U);
        EXPECT_EQ(map->address, 0x1000U);
        EXPECT_EQ(map->size, 0x2000U);
        EXPECT_EQ(map->file_offset, 0x3000U);
        if (misc == perf::misc::kUser) {
            EXPECT_EQ(map->device_major, 254U);
            EXPECT_EQ(map->device_minor, 1U);
            EXPECT_EQ(map->inode, 1234U);
            EXPECT_EQ(map->inode_generation, 0x8765'4321U);
            EXPECT_TRUE(map->build_id.empty());
        } else {
            EXPECT_EQ(map->inode, 0U);
            EXPECT_EQ(map->build_id.size(), 20U);
        }
        EXPECT_EQ(map->protection, 5U);
        EXPECT_EQ(map->flags, 2U);
        EXPECT_EQ(map->path, "/usr/bin/x");
        EXPECT_EQ(record_time(native_record(record), kLayout), 77U);
        const auto trailer = read_trailer(native_record(record), kLayout);
        ASSERT_TRUE(trailer.has_value());
        EXPECT_EQ(trailer->cpu, 1U);
        EXPECT_EQ(trailer->id, 9U);
        EXPECT_FALSE(read_map(native_record(std::span(record).first(record.size() - 24)), kLayout).has_value());
    }
}

TEST(RecordReader, ReadsContextSwitches) {
    const auto plain = RecordWriter(perf::RecordType::kSwitch, perf::misc::kSwitchOut).trailer(1, 2, 5, 0, 1).take();
    const auto out = read_switch(native_record(plain), kLayout);
    ASSERT_TRUE(out.has_value());
    EXPECT_TRUE(out->is_out && !out->is_preempted && !out->has_other);
    constexpr auto kPreempted = static_cast<std::uint16_t>(perf::misc::kSwitchOut | perf::misc::kSwitchOutPreempt);
    for (const std::uint16_t misc : {kPreempted, std::uint16_t{0}}) {
        const auto record =
            RecordWriter(perf::RecordType::kSwitchCpuWide, misc).u32(7).u32(8).trailer(1, 2, 5, 0, 1).take();
        const auto change = read_switch(native_record(record), kLayout);
        ASSERT_TRUE(change.has_value());
        EXPECT_EQ(change->is_out, misc != 0);
        EXPECT_EQ(change->is_preempted, misc != 0);
        EXPECT_TRUE(change->has_other);
        EXPECT_EQ(change->other_pid, 7U);
        EXPECT_EQ(change->other_tid, 8U);
    }
    const auto cut = RecordWriter(perf::RecordType::kSwitchCpuWide, 0).u32(7).trailer(1, 2, 5, 0, 1).take();
    EXPECT_FALSE(read_switch(native_record(cut), kLayout).has_value());
}

TEST(RecordReader, ReadsCountsOfThreads) {
    namespace format = perf::read_format;
    RecordLayout layout = kLayout;
    layout.read_format = format::kTimeEnabled | format::kTimeRunning | format::kId | format::kLost;
    const auto record = RecordWriter(perf::RecordType::kRead, 0)
                            .u32(1)
                            .u32(2)
                            .u64(300)
                            .u64(40)
                            .u64(30)
                            .u64(9)
                            .u64(0)
                            .trailer(1, 2, 5, 0, 9)
                            .take();
    const auto counts = read_counts(native_record(record), layout);
    ASSERT_TRUE(counts.has_value());
    EXPECT_EQ(counts->pid, 1U);
    EXPECT_EQ(counts->tid, 2U);
    EXPECT_EQ(counts->value, 300U);
    EXPECT_EQ(counts->enabled_ns, 40U);
    EXPECT_EQ(counts->running_ns, 30U);
    EXPECT_EQ(counts->id, 9U);
    const auto value_alone =
        RecordWriter(perf::RecordType::kRead, 0).u32(1).u32(2).u64(300).trailer(1, 2, 5, 0, 8).take();
    EXPECT_EQ(read_counts(native_record(value_alone), kLayout)->id, 8U) << "of the trailer";
    EXPECT_FALSE(read_counts(native_record(value_alone), layout).has_value());
    layout.read_format |= format::kGroup;
    EXPECT_FALSE(read_counts(native_record(record), layout).has_value());
}

TEST(RecordReader, ReadsNamespaces) {
    const auto record = RecordWriter(perf::RecordType::kNamespaces, 0)
                            .u32(1)
                            .u32(2)
                            .u64(2)
                            .u64(4)
                            .u64(0xf0000000)
                            .u64(4)
                            .u64(0xeffffffe)
                            .trailer(1, 2, 5, 0, 1)
                            .take();
    const auto namespaces = read_namespaces(native_record(record), kLayout);
    ASSERT_TRUE(namespaces.has_value());
    EXPECT_EQ(namespaces->tid, 2U);
    EXPECT_EQ(namespaces->words, (std::vector<std::uint64_t>{4, 0xf0000000, 4, 0xeffffffe}));
    const auto cut = RecordWriter(perf::RecordType::kNamespaces, 0).u32(1).u32(2).u64(1).u64(4).take();
    EXPECT_FALSE(read_namespaces(native_record(cut), kLayout).has_value());
}

TEST(RecordReader, ReadsNamesTasksAndLosses) {
    const auto exec = RecordWriter(perf::RecordType::kComm, perf::misc::kCommExec)
                          .u32(1)
                          .u32(2)
                          .text("sh")
                          .trailer(1, 2, 5, 0, 1)
                          .take();
    const auto comm = read_comm(native_record(exec), kLayout);
    ASSERT_TRUE(comm.has_value());
    EXPECT_TRUE(comm->is_exec);
    EXPECT_EQ(comm->name, "sh");
    EXPECT_EQ(comm->tid, 2U);

    const auto fork = RecordWriter(perf::RecordType::kFork, 0)
                          .u32(20)
                          .u32(10)
                          .u32(21)
                          .u32(11)
                          .u64(99)
                          .trailer(10, 11, 99, 0, 1)
                          .take();
    const auto task = read_task(native_record(fork), kLayout);
    ASSERT_TRUE(task.has_value());
    EXPECT_EQ(task->pid, 20U);
    EXPECT_EQ(task->parent_pid, 10U);
    EXPECT_EQ(task->tid, 21U);
    EXPECT_EQ(task->parent_tid, 11U);

    const auto gone = RecordWriter(perf::RecordType::kLost, 0).u64(42).u64(1'000).trailer(0, 0, 5, 0, 42).take();
    const auto lost = read_lost(native_record(gone), kLayout);
    ASSERT_TRUE(lost.has_value());
    EXPECT_EQ(lost->id, 42U);
    EXPECT_EQ(lost->record_count, 1'000U);

    const auto throttle =
        RecordWriter(perf::RecordType::kThrottle, 0).u64(5).u64(42).u64(43).trailer(0, 0, 5, 0, 42).take();
    EXPECT_EQ(read_throttle_id(native_record(throttle), kLayout), 42U);
    EXPECT_FALSE(read_lost(native_record(std::span(gone).first(40)), kLayout).has_value());
    EXPECT_FALSE(record_time(native_record(std::span(gone).first(16)), kLayout).has_value());
}

}  // namespace
}  // namespace perfleet
