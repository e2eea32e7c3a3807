// What the process of a test writes (crash tests), so that the test knows it.
#pragma once

#include <map>
#include <tuple>

#include "storage/model/keys.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::test_writer {

inline constexpr TargetId kTarget{17};
inline constexpr SessionId kSession{0xabc, 0xdef};
inline constexpr BucketNumber kBucket{480'000};
inline constexpr Series kSeries{Kind::kSample, EventNumber{0}};

inline Partition partition() { return partition_of(kTarget, kBucket); }
inline SessionRecord session() { return sample_session(kTarget, kSession); }

// A thousand rows that belong to this seq alone.
inline AdmittedBatch batch(Seq seq, SessionId session = kSession, BucketNumber bucket = kBucket) {
    std::vector<std::uint64_t> times;
    std::vector<std::uint64_t> tids;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        times.push_back(seq.value * 1'000'000 + i * i % 997);
        tids.push_back((seq.value * 31 + i * 17) % 1009);
    }
    SampleBatch batch{kTarget, session, seq, EpochNumber{0}, bucket};
    batch.add(kSeries, {{ColumnId::kTime, times}, {ColumnId::kTid, tids}});
    return batch.build();
}

// The same, made once: for tests that compare with it again and again. One thread.
inline const AdmittedBatch& kept_batch(Seq seq, SessionId session = kSession, BucketNumber bucket = kBucket) {
    static std::map<std::tuple<Seq, SessionId, BucketNumber>, AdmittedBatch> kept;
    const auto [at, is_new] = kept.try_emplace({seq, session, bucket});
    if (is_new) {
        at->second = batch(seq, session, bucket);
    }
    return at->second;
}

}  // namespace perfleet::test_writer
