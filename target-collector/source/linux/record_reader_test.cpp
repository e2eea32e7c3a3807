#include "target-collector/source/linux/record_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace perfleet {
namespace {

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

// As a BPF program emits it.
std::vector<std::byte> unwound_sample(std::uint32_t raw_bytes) {
    return RecordWriter(perf::RecordType::kSample, 0)
        .u64(42)
        .u64(0x401000)
        .u32(7)
        .u32(8)
        .u64(1'000)
        .u32(3)
        .u32(0)
        .u64(0)  // call chain of the kernel
        .u32(raw_bytes)
        .u32(3)      // how it ended
        .u64(9'000)  // period
        .u64(0x401000)
        .u64(0x402000)
        .take();
}

TEST(RecordReader, WhatABpfProgramUnwoundIsRead) {
    SampleFields fields;
    fields.period = true;
    fields.callchain = true;
    fields.raw = true;
    fields.unwound = true;
    const auto record = unwound_sample(28);
    const auto sample = read_sample(record, fields);
    ASSERT_TRUE(sample);
    EXPECT_TRUE(sample->is_unwound);
    EXPECT_EQ(sample->unwound_end, 3U);
    EXPECT_EQ(sample->period, 9'000U);
    EXPECT_EQ(std::vector(sample->user_chain.begin(), sample->user_chain.end()),
              (std::vector<std::uint64_t>{0x401000, 0x402000}));
    EXPECT_TRUE(sample->raw.empty());
    const auto without_chain = unwound_sample(12);
    EXPECT_TRUE(read_sample(without_chain, fields)->user_chain.empty());
    for (const std::uint32_t size : {0U, 11U, 29U}) {
        const auto broken = unwound_sample(size);
        EXPECT_FALSE(read_sample(broken, fields)) << size;
    }
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
    SampleFields fields;
    fields.cgroup = true;
    RecordWriter writer(perf::RecordType::kSample, 0);
    writer.u64(42).u64(0x4000).u32(7).u32(8).u64(1'000).u32(3).u32(0);
    const auto without = writer.take();
    EXPECT_FALSE(read_sample(without, fields));
    const auto record = writer.u64(1).u64(0x4000).u64(77).take();
    fields.callchain = true;
    const auto sample = read_sample(record, fields);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->cgroup, 77U);
    EXPECT_EQ(sample->callchain.size(), 1U);

    const auto made =
        RecordWriter(perf::RecordType::kCgroup, 0).u64(77).text("/a.slice/b").trailer(1, 1, 9, 0, 42).take();
    const auto cgroup = read_cgroup(made);
    ASSERT_TRUE(cgroup);
    EXPECT_EQ(cgroup->id, 77U);
    EXPECT_EQ(cgroup->path, "/a.slice/b");
    EXPECT_FALSE(read_cgroup(RecordWriter(perf::RecordType::kCgroup, 0).u64(77).trailer(1, 1, 9, 0, 42).take()));
}

TEST(RecordReader, ReadsTheUsersRegistersAndStack) {
    SampleFields fields;
    fields.user_register_count = 3;
    const auto record = sample_with_stack(2, 8);
    const auto sample = read_sample(record, fields);
    ASSERT_TRUE(sample.has_value());
    EXPECT_TRUE(sample->user_stack.has_registers);
    EXPECT_EQ(sample->user_stack.registers, (std::array<std::uint64_t, 4>{0x100, 0x101, 0x102, 0}));
    ASSERT_EQ(sample->user_stack.bytes.size(), 8U);
    EXPECT_EQ(sample->user_stack.bytes[0], std::byte{0xaa});
    EXPECT_FALSE(sample->user_stack.is_cut);
    const auto full = sample_with_stack(2, 16);
    EXPECT_TRUE(read_sample(full, fields)->user_stack.is_cut);

    EXPECT_FALSE(sample->user_stack.is_32_bit);
    EXPECT_TRUE(read_sample(sample_with_stack(1, 16), fields)->user_stack.is_32_bit);
    const auto of_kernel_thread = sample_with_stack(0, 16);
    ASSERT_TRUE(read_sample(of_kernel_thread, fields).has_value());
    EXPECT_FALSE(read_sample(of_kernel_thread, fields)->user_stack.has_registers);
}

TEST(RecordReader, RefusesABrokenCopyOfTheStack) {
    SampleFields fields;
    fields.user_register_count = 3;
    const auto whole = sample_with_stack(2, 16);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_FALSE(read_sample(std::span{whole}.first(size), fields).has_value()) << size;
    }
    EXPECT_FALSE(read_sample(sample_with_stack(2, 17), fields).has_value());
    fields.user_register_count = 5;  // more than are ever asked for
    EXPECT_FALSE(read_sample(whole, fields).has_value());
}

TEST(RecordReader, ReadsASample) {
    const auto record = full_sample();
    EXPECT_EQ(record_time(record), 1'000U);
    EXPECT_EQ(sample_id(record), 42U);
    const auto sample = read_sample(record, {true, true, true});
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
    const auto record = full_sample();
    for (std::size_t size = sizeof(perf::RecordHeader); size < record.size(); ++size) {
        EXPECT_FALSE(read_sample(std::span(record).first(size), {true, true, true}).has_value()) << size;
    }
}

TEST(RecordReader, RefusesLengthsBeyondTheRecord) {
    auto record = full_sample();
    const std::uint64_t frames = ~0ULL / 8;
    std::memcpy(record.data() + 56, &frames, sizeof(frames));
    EXPECT_FALSE(read_sample(record, {true, true, true}).has_value());
    record = full_sample();
    const std::uint32_t raw_size = 5;
    std::memcpy(record.data() + record.size() - 8, &raw_size, sizeof(raw_size));
    EXPECT_FALSE(read_sample(record, {true, true, true}).has_value());
}

TEST(RecordReader, ReadsMappingsWithTheirFile) {
    // With the bit of a build-id and without it: it may be set for another reader of the same mapping.
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
        const auto map = read_mmap2(record);
        ASSERT_TRUE(map.has_value());
        EXPECT_EQ(map->pid, 10U);
        EXPECT_EQ(map->address, 0x1000U);
        EXPECT_EQ(map->size, 0x2000U);
        EXPECT_EQ(map->file_offset, 0x3000U);
        EXPECT_EQ(map->device_major, 254U);
        EXPECT_EQ(map->device_minor, 1U);
        EXPECT_EQ(map->inode, 1234U);
        EXPECT_EQ(map->inode_generation, 0x8765'4321U);
        EXPECT_EQ(map->protection, 5U);
        EXPECT_EQ(map->flags, 2U);
        EXPECT_EQ(map->path, "/usr/bin/x");
        EXPECT_EQ(record_time(record), 77U);
        const auto trailer = read_trailer(record);
        ASSERT_TRUE(trailer.has_value());
        EXPECT_EQ(trailer->cpu, 1U);
        EXPECT_EQ(trailer->id, 9U);
        EXPECT_FALSE(read_mmap2(std::span(record).first(record.size() - 24)).has_value());
    }
}

TEST(RecordReader, ReadsNamesTasksAndLosses) {
    const auto exec = RecordWriter(perf::RecordType::kComm, perf::misc::kCommExec)
                          .u32(1)
                          .u32(2)
                          .text("sh")
                          .trailer(1, 2, 5, 0, 1)
                          .take();
    const auto comm = read_comm(exec);
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
    const auto task = read_task(fork);
    ASSERT_TRUE(task.has_value());
    EXPECT_EQ(task->pid, 20U);
    EXPECT_EQ(task->parent_pid, 10U);
    EXPECT_EQ(task->tid, 21U);
    EXPECT_EQ(task->parent_tid, 11U);

    const auto gone = RecordWriter(perf::RecordType::kLost, 0).u64(42).u64(1'000).trailer(0, 0, 5, 0, 42).take();
    const auto lost = read_lost(gone);
    ASSERT_TRUE(lost.has_value());
    EXPECT_EQ(lost->id, 42U);
    EXPECT_EQ(lost->record_count, 1'000U);

    const auto throttle =
        RecordWriter(perf::RecordType::kThrottle, 0).u64(5).u64(42).u64(43).trailer(0, 0, 5, 0, 42).take();
    EXPECT_EQ(read_throttle_id(throttle), 42U);
    EXPECT_FALSE(read_lost(std::span(gone).first(40)).has_value());
    EXPECT_FALSE(record_time(std::span(gone).first(16)).has_value());
}

}  // namespace
}  // namespace perfleet
