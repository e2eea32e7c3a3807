// A store of made-up sessions, as a gateway stores them: each at 999 Hz on two processors, hour after hour, an epoch an
// hour, in batches of 16k rows where there are so many.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "storage/store/store.h"
#include "storage/store/testing/sample_batches.h"
#include "tests/benchmark/sample_rows.h"

namespace perfleet {

template <class Value>
Value checked_or_stop(Result<Value> result) {
    if (!result.ok()) {
        std::fprintf(stderr, "%s\n", result.error().message.c_str());
        std::exit(1);
    }
    return std::move(*result);
}

inline constexpr std::uint64_t kRowsPerHour = 2 * 999 * 3'600;
inline constexpr std::uint32_t kFirstBucket = 472'223;
inline constexpr std::uint64_t kFirstTicks =
    std::uint64_t{kFirstBucket} * 3'600'000'000'000 - 1'700'000'000'000'000'000;

enum class Likeness : std::uint8_t {
    kRepeated,     // each batch has the first one's rows, other stacks: quickly made
    kIndependent,  // rows of its own for each batch and session
};

// One session, of its own target. Its watermark is after its last batch: all of it may be joined.
inline void store_session(Store& store, std::uint64_t number, std::uint64_t row_count, std::uint32_t stack_count,
                          std::uint64_t rows_per_hour_max = kRowsPerHour, Likeness likeness = Likeness::kRepeated) {
    const TargetId target{number};
    const SessionId session{number, 1};
    const auto rows_per_batch = static_cast<std::size_t>(
        std::clamp<std::uint64_t>(std::min(row_count, rows_per_hour_max), 1, limits::kBatchRowsMax));
    SampleRows rows = make_sample_rows(rows_per_batch, stack_count);
    const std::uint64_t rows_per_hour =
        std::max<std::uint64_t>(rows_per_hour_max / rows.row_count(), 1) * rows.row_count();
    std::uint64_t seq = 0;
    for (std::uint64_t row = 0; row < row_count; row += rows.row_count()) {
        const auto hour = static_cast<std::uint32_t>(row / rows_per_hour);
        const std::uint64_t in_hour = row % rows_per_hour;
        const BucketNumber bucket{kFirstBucket + hour};
        SampleBatch batch{target, session, Seq{++seq}, EpochNumber{hour}, bucket};
        if (in_hour == 0) {
            std::vector<SampleBatch::Stack> stacks;
            for (std::uint32_t stack = 1; stack <= stack_count; ++stack) {
                stacks.push_back({stack, stack % 16 == 1 ? 0 : stack - 1, 0, 0x1000 + stack});
            }
            for (std::size_t at = 0; at < stacks.size(); at += limits::kBatchRowsMax) {  // a batch's worth at a time
                SampleBatch part{target, session, Seq{seq++}, EpochNumber{hour}, bucket};
                const auto end = std::min(stacks.size(), at + limits::kBatchRowsMax);
                part.add_stacks({stacks.begin() + static_cast<std::ptrdiff_t>(at),
                                 stacks.begin() + static_cast<std::ptrdiff_t>(end)});
                if (at == 0) {
                    part.add_images({{0, 0, std::string(20, 'b'), "/bin/true"}});
                }
                const Partition partition = partition_of(target, bucket);
                checked_or_stop(store.define(partition, sample_session(target, session)));
                checked_or_stop(store.put(partition, std::vector{part.build()}));
            }
            batch = SampleBatch{target, session, Seq{seq}, EpochNumber{hour}, bucket};
        }
        if (likeness == Likeness::kIndependent) {
            rows = make_sample_rows(rows_per_batch, stack_count, number << 32U | seq);
        }
        std::vector<std::uint64_t> times = rows.time;
        for (std::uint64_t& time : times) {
            time += kFirstTicks + hour * 3'600'000'000'000ULL + in_hour * 500'500 - rows.time.front();
        }
        std::vector<std::uint64_t> stacks = rows.stack;  // other ones in each batch
        for (std::uint64_t& stack : stacks) {
            stack = 1 + (stack + seq % 8) % stack_count;
        }
        batch.add(kSampleSeries, {{ColumnId::kTime, times},
                                  {ColumnId::kCpu, rows.cpu},
                                  {ColumnId::kPid, rows.pid},
                                  {ColumnId::kTid, rows.tid},
                                  {ColumnId::kStack, stacks},
                                  {ColumnId::kWeight, rows.weight}});
        batch.entry(kSampleSeries, CountName::kProduced, row + rows.row_count());
        checked_or_stop(store.put(partition_of(target, bucket), std::vector{batch.build()}));
        if (seq % 64 == 0) {
            checked_or_stop(store.advance_watermark(target, session, Seq{seq}));
            checked_or_stop(store.sync());
        }
    }
    checked_or_stop(store.advance_watermark(target, session, Seq{seq}));
}

}  // namespace perfleet
