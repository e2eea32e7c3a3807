#include "query-engine/scan/query_memory.h"

#include <gtest/gtest.h>

#include <utility>

namespace perfleet::query_memory_test {
namespace {

TEST(QueryMemory, IsExceededOnceSharesHaveAddedUpToMore) {
    QueryMemory memory{100};
    MemoryShare first{memory};
    first.set(60);
    EXPECT_TRUE(memory.is_half_full());
    {
        MemoryShare second{memory};
        second.set(40);
        EXPECT_FALSE(memory.is_exceeded());
        second.add(1);
        EXPECT_TRUE(memory.is_exceeded());
        EXPECT_EQ(memory.exceeded().code, ErrorCode::kTooLarge);
        MemoryShare moved{std::move(second)};
        EXPECT_EQ(memory.size_bytes(), 101U);
    }
    EXPECT_EQ(memory.size_bytes(), 60U);
    EXPECT_TRUE(memory.is_exceeded()) << "what was left out meanwhile is missing for good";
    EXPECT_NE(memory.exceeded().message.find("--memory"), std::string::npos);
    MemoryShare other{memory};
    other.set(30);
    first = std::move(other);
    EXPECT_EQ(memory.size_bytes(), 30U);
    EXPECT_FALSE(memory.is_half_full());
}

TEST(MemoryPool, EndsTheQueryThatHoldsMoreThanItsPart) {
    MemoryPool pool{100};
    QueryMemory great{1'000, &pool};
    MemoryShare much{great};
    much.set(90);
    EXPECT_FALSE(great.is_exceeded());
    QueryMemory small{1'000, &pool};
    MemoryShare little{small};
    little.set(20);
    EXPECT_TRUE(great.is_exceeded());
    EXPECT_FALSE(small.is_exceeded());
    EXPECT_NE(great.exceeded().message.find("all queries together"), std::string::npos);
    much.set(0);
    little.set(100);
    EXPECT_FALSE(small.is_exceeded());
}

}  // namespace
}  // namespace perfleet::query_memory_test
