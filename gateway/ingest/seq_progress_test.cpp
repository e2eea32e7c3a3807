#include "gateway/ingest/seq_progress.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

TEST(SeqProgress, GoesOnAfterTheLastSeqBelowTheOldestWasSettled) {
    SeqProgress progress;
    progress.settle(Seq{5}, 1U);
    progress.settle_below(Seq{6});
    EXPECT_EQ(progress.prefix(), Seq{5});
    EXPECT_EQ(progress.seal_of(Seq{5}), std::nullopt);
    progress.settle(Seq{6}, 2U);
    EXPECT_EQ(progress.prefix(), Seq{6});
}

}  // namespace
}  // namespace perfleet
