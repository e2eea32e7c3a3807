#include "schemas/host/suggestion.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

const std::vector<std::string> kNames{"top",    "tree",   "targets",  "tracepoints",
                                      "export", "import", "--format", "--from"};

TEST(Suggestion, CountsTheEditsThatMakeOneWordOfAnother) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);  // the textbook's example
    EXPECT_EQ(edit_distance("tpo", "top"), 1U);
    EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // of optimal string alignment; 2 without its restriction
    EXPECT_GT(edit_distance(std::string(300, 'a'), "a"), 300U);
}

TEST(Suggestion, TakesTheNearestName) {
    EXPECT_EQ(did_you_mean("tpo", kNames), "; did you mean 'top'?");
    EXPECT_EQ(did_you_mean("--fromat", kNames), "; did you mean '--format'?");
    EXPECT_EQ(did_you_mean("trace", kNames), "; did you mean 'tracepoints'?");
    EXPECT_EQ(did_you_mean("xport", kNames), "; did you mean 'export'?");
    EXPECT_EQ(did_you_mean("eport", {"export", "report"}), "; did you mean 'export' or 'report'?");
}

TEST(Suggestion, TakesNoneThatIsFar) {
    EXPECT_EQ(did_you_mean("flamegraph", kNames), "");
    EXPECT_EQ(did_you_mean("", kNames), "");
    EXPECT_EQ(did_you_mean("-", kNames), "");
    EXPECT_EQ(did_you_mean("xyz", kNames), "");
}

}  // namespace
}  // namespace perfleet
