// The content of the golden store (tests/golden/store), put through the Store interface, and their text: a line a
// key, `key value` in hexadecimal digits, ascending.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/text/hex.h"
#include "schemas/vocabulary/kinds.h"
#include "storage/compact/compaction_step.h"
#include "storage/compact/policy.h"
#include "storage/engine/engine.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/key/key_bytes.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::golden_store {

inline constexpr TargetId kTarget{17};
inline constexpr SessionId kSession{0xabc, 0xdef};
inline constexpr BucketNumber kDroppedBucket{480'000};
inline constexpr BucketNumber kBucket{480'001};
inline constexpr Series kSamples{Kind::kSample, EventNumber{0}};
inline constexpr std::uint64_t kFirstSeq = 3;  // that is stored; 1 and 2 expired
inline constexpr std::uint64_t kLastSeq = 8;

inline std::vector<std::uint64_t> times_of(std::uint64_t seq) {
    return {1'000 * seq, 1'000 * seq + 7, 1'000 * seq + 900};
}

inline AdmittedBatch batch(std::uint64_t seq, BucketNumber bucket) {
    SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{bucket.value - kDroppedBucket.value}, bucket};
    batch.add(kSamples, {{ColumnId::kTime, times_of(seq)}, {ColumnId::kTid, {seq, seq, seq}}});
    if (seq == kFirstSeq) {
        batch.add_strings({{1, "bash"}}).add_images({{1, 0, "\x12\x34", "/bin/bash"}}).add_stacks({{1, 0, 1, 0x40}});
    }
    batch.entry(kSamples, CountName::kProduced, 3 * seq);
    batch.clock_point({Ticks{1'000 * seq}, UtcNs{1'700'000'000'000'000'000}, 50});
    return batch.build();
}

// Seq 1 was dropped with its hour and 2 came late for it; 3 to 8 are there, 8 above the watermark.
inline bool fill(Store& store) {
    const SessionRecord session = sample_session(kTarget, kSession);
    const auto put = [&](std::uint64_t seq, BucketNumber bucket) {
        const Partition partition = partition_of(kTarget, bucket);
        const std::vector batches{batch(seq, bucket)};
        return store.define(partition, session).ok() && store.put(partition, batches).ok();
    };
    bool is_done = put(1, kDroppedBucket) && store.drop(partition_of(kTarget, kDroppedBucket)).ok();
    is_done = is_done && put(2, kDroppedBucket);
    for (std::uint64_t seq = kFirstSeq; seq <= kLastSeq; ++seq) {
        is_done = is_done && put(seq, kBucket);
    }
    return is_done && store.advance_watermark(kTarget, kSession, Seq{kLastSeq - 1}).ok() &&
           store.end_session(kTarget, kSession, {Seq{kLastSeq}, {}, {}, {Ticks{9'000}, UtcNs{5}, 6}}).ok() &&
           store.put_image("build-id", {1, "symbols"}).ok() && store.sync().ok();
}

// A session whose batches are rolled up: rows of two threads in two minutes, one of them renamed in between, and
// values.
inline constexpr SessionId kSummedSession{0xabd, 0xdef};
inline constexpr Series kPoints{Kind::kTracepoint, EventNumber{1}};
inline constexpr std::uint64_t kSummedSeqs = 4;
inline constexpr std::uint64_t kHourTicks =
    std::uint64_t{kBucket.value} * kBucketDurationS * kNsPerSecond - 1'700'000'000'000'000'000;

inline SampleIntegers summed_rows(std::uint64_t seq) {
    SampleIntegers rows;
    for (std::uint64_t row = 0; row < 6; ++row) {
        rows[ColumnId::kTime].push_back(kHourTicks + seq * 25'000'000'000 + row);
        rows[ColumnId::kPid].push_back(40);
        rows[ColumnId::kTid].push_back(40 + row % 2);
        rows[ColumnId::kStack].push_back(row % 3);
        rows[ColumnId::kWeight].push_back(seq);
    }
    return rows;
}

inline std::vector<std::uint64_t> summed_values(std::uint64_t seq) {
    return {seq, 1'000 * seq, 1'001, 70'000, 7, ~0ULL};
}

inline bool fill_summed(Store& store) {
    const Partition partition = partition_of(kTarget, kBucket);
    bool is_done = store.define(partition, sample_session(kTarget, kSummedSession)).ok();
    for (std::uint64_t seq = 1; seq <= kSummedSeqs; ++seq) {
        SampleBatch batch{kTarget, kSummedSession, Seq{seq}, EpochNumber{0}, kBucket};
        SampleIntegers rows = summed_rows(seq);
        batch.add(kSamples, rows);
        rows[ColumnId::kValue] = summed_values(seq);
        batch.add(kPoints, rows);
        if (seq == 2) {
            batch.add_strings({{1, "renamed"}});
            batch.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {kHourTicks + 60'000'000'000}},
                                                {ColumnId::kTaskOp, {static_cast<std::uint64_t>(TaskOp::kComm)}},
                                                {ColumnId::kPid, {40}},
                                                {ColumnId::kTid, {41}},
                                                {ColumnId::kString, {1}}});
        }
        is_done = is_done && store.put(partition, std::vector{batch.build()}).ok();
    }
    return is_done && store.advance_watermark(kTarget, kSummedSession, Seq{kSummedSeqs}).ok();
}

// A session of three hours of a day, whose numbers mean something else in each.
inline constexpr SessionId kDaySession{0xabe, 0xdef};
inline constexpr std::uint32_t kDayHours = 3;

// Rows with each chain: seven of the one that is an hour's number `hour`, of its two.
inline SampleIntegers day_rows(std::uint32_t hour) {
    SampleIntegers rows;
    for (std::uint64_t row = 0; row < 9; ++row) {
        rows[ColumnId::kTime].push_back(kHourTicks + hour * 3'600'000'000'000 + 1'000 * row);
        rows[ColumnId::kPid].push_back(40);
        rows[ColumnId::kTid].push_back(40);
        rows[ColumnId::kStack].push_back(row < 7 ? 1 + hour % 2 : 2 - hour % 2);
        rows[ColumnId::kWeight].push_back(10);
    }
    return rows;
}

inline bool fill_day(Store& store) {
    bool is_done = true;
    for (std::uint32_t hour = 0; hour < kDayHours; ++hour) {
        const BucketNumber bucket{kBucket.value + hour};
        const Partition partition = partition_of(kTarget, bucket);
        SampleBatch batch{kTarget, kDaySession, Seq{hour + 1}, EpochNumber{hour}, bucket};
        batch.add_strings({{1 + hour, "sh"}});
        batch.add_images({{0, 0, "\x12\x34", "/bin/bash"}});
        batch.add_stacks({{1, 0, 0, hour % 2 == 0 ? 0x40U : 0x80U}, {2, 0, 0, hour % 2 == 0 ? 0x80U : 0x40U}});
        batch.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {kHourTicks + hour * 3'600'000'000'000}},
                                            {ColumnId::kTaskOp, {static_cast<std::uint64_t>(TaskOp::kPresent)}},
                                            {ColumnId::kPid, {40}},
                                            {ColumnId::kTid, {40}},
                                            {ColumnId::kString, {1 + hour}}});
        batch.add(kSamples, day_rows(hour));
        is_done = is_done && store.define(partition, sample_session(kTarget, kDaySession)).ok() &&
                  store.put(partition, std::vector{batch.build()}).ok();
    }
    return is_done && store.advance_watermark(kTarget, kDaySession, Seq{kDayHours}).ok();
}

// A session of the first of these hours that has a call chain of that one's, and frames in its own kernel and in a
// module of it.
inline constexpr SessionId kKernelSession{0xabf, 0xdef};

inline bool fill_kernel(Store& store) {
    const Partition partition = partition_of(kTarget, kBucket);
    SampleBatch batch{kTarget, kKernelSession, Seq{1}, EpochNumber{5}, kBucket};
    batch.add_images({{0, image_flags::kKernel | image_flags::kKernelModule, "", "[ext4]", 0x7000, 9},
                      {1, 0, "\x12\x34", "/bin/bash"},
                      {2, image_flags::kKernel, "\x56", "[kernel.kallsyms]", 0x1000, 0x2000}});
    batch.add_stacks({{1, 0, 1, 0x80}, {2, 1, 2, 0x30}, {3, 2, 0, 4}});
    batch.add(kSamples, {{ColumnId::kTime, {kHourTicks + 7}}, {ColumnId::kTid, {40}}, {ColumnId::kStack, {3}}});
    return store.define(partition, sample_session(kTarget, kKernelSession)).ok() &&
           store.put(partition, std::vector{batch.build()}).ok() &&
           store.advance_watermark(kTarget, kKernelSession, Seq{1}).ok();
}

// Puts all of it into a new folder, and compacts and rolls up what it may.
inline bool write_golden_store(const std::string& directory) {
    StoreOptions options;
    options.summaries = SummaryPolicy{};
    options.dictionaries = DictionaryPolicy{.epochs_min = 2, .reuse = 1};
    auto store = open_store(directory, options);
    return store.ok() && fill(**store) && fill_summed(**store) && fill_day(**store) && fill_kernel(**store) &&
           (*store)->compact(UtcNs{INT64_MAX / 2}, [](const CompactionStep&) { return Visit::kContinue; }).ok() &&
           (*store)->sync().ok();
}

inline std::string text_of(const Engine& engine) {
    std::string text;
    (void)engine.visit(everything(), [&](std::string_view key, std::string_view value) {
        text += hex_of(key) + " " + hex_of(value) + "\n";
        return Visit::kContinue;
    });
    return text;
}

}  // namespace perfleet::golden_store
