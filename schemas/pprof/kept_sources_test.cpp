#include "schemas/pprof/kept_sources.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

TEST(KeptSources, AreReadAsTheyWereWritten) {
    KeptSources sources;
    sources.files = {"", "/src/a b.cpp", "/src/new.cpp"};
    sources.places = {{.line = 12, .file = 1}, {.line = 0, .file = 0}, {.line = -3, .file = 2}};
    const std::string text = kept_sources_text(sources);
    EXPECT_EQ(text, "f/src/a b.cpp\nf/src/new.cpp\np1 12\np0 0\np2 -3\n");
    const auto read = parse_kept_sources(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->files, sources.files);
    EXPECT_EQ(kept_sources_text(*read), text);
}

TEST(KeptSources, APlaceHasItsOffsetsAndThoseBeforeIt) {
    KeptSources sources;
    sources.places = {{.line = 1}, {.line = 2}};
    EXPECT_EQ(sources.find(0)->line, 1);
    EXPECT_EQ(sources.find(kKeptPlaceSizeBytes)->line, 2);
    EXPECT_EQ(sources.find(kKeptPlaceSizeBytes - 1)->line, 2) << "a caller is looked up one before";
    EXPECT_EQ(sources.find(kKeptPlaceSizeBytes + 1), nullptr);
}

TEST(KeptSources, OtherTextsAreRefused) {
    for (const char* const text : {"\n", "x\n", "p0\n", "p1 5\n", "p0 a\n", "p-1 5\n", "p0 5 x", "fa\np2 1\n"}) {
        EXPECT_FALSE(parse_kept_sources(text).ok()) << text;
    }
    EXPECT_TRUE(parse_kept_sources("").ok());
}

}  // namespace
}  // namespace perfleet
