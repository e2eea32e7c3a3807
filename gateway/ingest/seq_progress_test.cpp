#include "gateway/ingest/seq_progress.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

TEST(SeqProgress, GoesOnAfterTheLastSeqBelowTheOldestWasResolved) {
    SeqProgress progress;
    progress.resolve(Seq{5}, 1U);
    progress.resolve_below(Seq{6});
    EXPECT_EQ(progress.prefix(), Seq{5});
    EXPECT_EQ(progress.seal_of(Seq{5}), std::nullopt);
    progress.resolve(Seq{6}, 2U);
    EXPECT_EQ(progress.prefix(), Seq{6});
}

TEST(SeqProgress, RemembersSeqsAboveAGapUpToALimit) {
    constexpr std::uint64_t kMax = limits::kOutOfOrderSeqsMax;
    SeqProgress progress{Seq{10}};
    EXPECT_TRUE(progress.is_resolved(Seq{10}));
    EXPECT_FALSE(progress.is_resolved(Seq{11}));
    EXPECT_FALSE(progress.is_beyond(Seq{10}));
    EXPECT_FALSE(progress.is_beyond(Seq{10 + kMax}));
    EXPECT_TRUE(progress.is_beyond(Seq{11 + kMax}));
    EXPECT_TRUE(progress.is_beyond(Seq{11 + kMax}, Seq{11})) << "nothing below 11 is missing anyway";
    EXPECT_FALSE(progress.is_beyond(Seq{11 + kMax}, Seq{12}));
    EXPECT_TRUE(progress.is_beyond(Seq{12 + kMax}, Seq{12}));
    EXPECT_FALSE(progress.is_beyond(Seq{3}, Seq{50}));
}

TEST(SeqProgress, ThePrefixTakesWhatFollowsIt) {
    SeqProgress progress;
    progress.resolve(Seq{2}, 7U);
    progress.resolve(Seq{3}, std::nullopt);
    progress.resolve(Seq{5}, 8U);
    EXPECT_EQ(progress.prefix(), Seq{0});
    EXPECT_EQ(progress.seal_of(Seq{2}), 7U);
    EXPECT_EQ(progress.seal_of(Seq{3}), std::nullopt);
    progress.resolve(Seq{1}, 9U);
    EXPECT_EQ(progress.prefix(), Seq{3});
    EXPECT_EQ(progress.seal_of(Seq{2}), std::nullopt);
    progress.resolve(Seq{2}, 9U);
    EXPECT_EQ(progress.prefix(), Seq{3});
    progress.resolve_below(Seq{5});
    EXPECT_EQ(progress.prefix(), Seq{5}) << "4 will never come, and 5 is there";
    progress.resolve_below(Seq{2});
    EXPECT_EQ(progress.prefix(), Seq{5});
}

}  // namespace
}  // namespace perfleet
