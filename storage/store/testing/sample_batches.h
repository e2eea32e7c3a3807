// Valid batches with real rows, for tests of every module that reads from a store. Not for programs.
//
//   SampleBatch batch{target, session, Seq{1}, EpochNumber{0}, BucketNumber{480'000}};
//   batch.add({Kind::kCounter, EventNumber{0}},
//             {{ColumnId::kTime, {10, 20}}, {ColumnId::kCpu, {0, 1}}, {ColumnId::kValue, {5, 6}}});
//   batch.entry({…}, CountName::kProduced, 2);
//   auto outcomes = store->put(partition_of(target, bucket), std::vector{batch.build()});
//
// Columns that a kind has but that weren't given are all 0 (byte columns: empty). Everything is encoded and sealed as
// a collector does it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/session/session_record.h"
#include "schemas/vocabulary/kinds.h"
#include "storage/model/batch.h"

namespace perfleet {

using SampleIntegers = std::map<ColumnId, std::vector<std::uint64_t>>;
using SampleBytes = std::map<ColumnId, std::vector<std::string>>;  // of byte columns; their sizes follow

class SampleBatch {
public:
    SampleBatch(TargetId target, SessionId session, Seq seq, EpochNumber epoch, BucketNumber bucket);

    // Every list holds as many values as the series has rows, which is at least one. Ticks are taken from kTime.
    SampleBatch& add(Series series, const SampleIntegers& integers, const SampleBytes& bytes = {});

    // Definitions.
    struct Stack {
        std::uint32_t number;
        std::uint32_t parent;
        std::uint32_t image;
        std::uint64_t offset;
    };
    SampleBatch& add_stacks(const std::vector<Stack>& stacks);
    struct Image {
        std::uint32_t number;
        std::uint64_t flags;
        std::string build_id;
        std::string name;
        std::uint64_t address = 0;
        std::uint64_t size_bytes = 0;
    };
    SampleBatch& add_images(const std::vector<Image>& images);
    struct String {
        std::uint32_t number;
        std::string text;
    };
    SampleBatch& add_strings(const std::vector<String>& strings);

    SampleBatch& entry(Series series, CountName name, std::uint64_t value);  // cumulative
    SampleBatch& dropped(Seq first, Seq last);
    SampleBatch& clock_point(const ClockPoint& point);

    [[nodiscard]] AdmittedBatch build() const;

private:
    struct Column {
        ColumnId id{};
        Codec codec{};
        std::vector<std::byte> bytes;
    };
    struct Rows {
        Series series;
        std::uint32_t row_count = 0;
        Ticks first_ticks;
        Ticks last_ticks;
        std::vector<Column> columns;
    };

    TargetId target_;
    BatchHeader header_;
    std::vector<Rows> rows_;
    std::vector<CountEntry> counts_;
    std::vector<SeqRange> dropped_;
    std::vector<ClockPoint> clock_points_;
};

// Names made from the numbers; a nanosecond clock that started at UTC 1.7e18 ns; one cpu-clock event of kind sample and
// one tracepoint.
[[nodiscard]] SessionRecord sample_session(TargetId target, SessionId session);

}  // namespace perfleet
