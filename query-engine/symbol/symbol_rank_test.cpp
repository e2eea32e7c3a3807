#include "query-engine/symbol/symbol_rank.h"

#include <elf.h>
#include <gtest/gtest.h>

namespace perfleet::symbol_rank_test {
namespace {

TEST(SymbolRank, JudgesInOrderSizeWeakGlobalUnderscoresLength) {
    EXPECT_TRUE(first_is_better({8, STB_WEAK, "__a", false}, {0, STB_GLOBAL, "long_name", false}));
    EXPECT_FALSE(first_is_better({8, STB_WEAK, "long_name", false}, {8, STB_LOCAL, "__a", false}));
    EXPECT_FALSE(first_is_better({8, STB_LOCAL, "long_name", false}, {8, STB_GLOBAL, "__a", false}));
    EXPECT_FALSE(first_is_better({8, STB_GLOBAL, "__long_name", false}, {8, STB_GLOBAL, "_a", false}));
    EXPECT_FALSE(first_is_better({8, STB_GLOBAL, "_a", false}, {8, STB_GLOBAL, "_ab", false}));
    EXPECT_TRUE(first_is_better({8, STB_GLOBAL, "ab", false}, {8, STB_GLOBAL, "ba", false}));
}

TEST(SymbolRank, JudgesMangledNamesAsTheyAreShown) {
    EXPECT_TRUE(first_is_better({8, STB_GLOBAL, "long_name", true}, {8, STB_GLOBAL, "_ZN1a1bEiiiiiii", true}));
}

TEST(SymbolRank, FirstOfAConstructorsVariantsStays) {
    EXPECT_TRUE(first_is_better({8, STB_GLOBAL, "_ZN1AC2Ev", true}, {8, STB_GLOBAL, "_ZN1AC1Ev", true}));
}

}  // namespace
}  // namespace perfleet::symbol_rank_test
