#include "query-engine/statistic/stack/frame_names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>

#include "query-engine/statistic/testing/shown_name.h"
#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/function_starts.h"
#include "storage/block/block.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::frame_names_test {
namespace {

TEST(SymbolNumbers, GiveATextOneNumberHoweverItIsMade) {
    TextNumbers images;
    SymbolNumbers symbols{images};
    const std::uint32_t lib = images.number_of("lib");
    EXPECT_EQ(symbols.number_of("lib+0x1f"), symbols.number_of(lib, 0x1f));
    EXPECT_EQ(symbols.number_of("lib+0x0"), symbols.number_of(lib, 0));
    EXPECT_EQ(symbols.number_of("a+0x1+0x2"), symbols.number_of(images.number_of("a+0x1"), 2));
    std::set<std::uint32_t> numbers;
    std::set<std::string> texts;
    // What only looks like a place.
    for (const char* text : {"lib+0x01f", "lib+0x1F", "lib+0x", "lib+0x1f ", "lib+0x-1", "+0x1", "lib", "lib+0x1f"}) {
        numbers.insert(symbols.number_of(text));
        texts.insert(symbols.text(symbols.number_of(text)));
        EXPECT_TRUE(texts.contains(text));
    }
    EXPECT_EQ(numbers.size(), 8U);
}

TEST(SymbolNumbers, CompareAsTheirTexts) {
    std::mt19937_64 random{3};
    TextNumbers images;
    SymbolNumbers symbols{images};
    std::vector<std::uint32_t> numbers;
    for (int i = 0; i < 400; ++i) {
        const std::uint32_t image = images.number_of(std::string(1 + random() % 2, "ab+"[random() % 3]));
        numbers.push_back(i % 4 == 0 ? symbols.number_of(images.text(image) + std::to_string(random() % 10))
                                     : symbols.number_of(image, random() >> (random() % 64)));
    }
    numbers.push_back(symbols.number_of(images.number_of("a"), 0));
    numbers.push_back(symbols.number_of(images.number_of("a"), ~0ULL));
    for (const std::uint32_t a : numbers) {
        for (const std::uint32_t b : numbers) {
            EXPECT_EQ(symbols.compare(a, b), symbols.text(a) <=> symbols.text(b))
                << symbols.text(a) << " " << symbols.text(b);
        }
    }
}

// So many that several threads name them: of this program, of files that aren't there, of memory without a file.
class NamedFrames : public testing::Test {
protected:
    static constexpr std::uint32_t kNodes = 40'000;

    void SetUp() override {
        const std::string program = std::filesystem::read_symlink("/proc/self/exe");
        const auto file = ElfFile::open(program);
        ASSERT_TRUE(file.ok());
        SampleBatch batch{TargetId{1}, SessionId{1, 2}, Seq{1}, EpochNumber{0}, BucketNumber{1}};
        batch.add_images({{0, image_flags::kFileOffset, std::string{(*file)->build_id()}, program},
                          {1, image_flags::kFileOffset, "gone", "/lib/gone.so"},
                          {2, image_flags::kAnonymous, "", "//anon"},
                          {3, image_flags::kUnknown, "", "[unknown]"},
                          {4, image_flags::kAnonymous, "", "made_at_run_time", 0, 0x40}});
        std::mt19937_64 random{5};
        std::vector<SampleBatch::Stack> stacks;
        for (std::uint32_t number = 1; number <= 15'000; ++number) {
            const std::uint64_t offset = number % 3 == 0 ? random() : random() % (4U << 20);
            stacks.push_back({number, random() % 2 == 0 ? number - 1 : 0, static_cast<std::uint32_t>(random() % 6),
                              number % 7 == 0 ? 0x1234 : offset});
        }
        batch.add_stacks(stacks);
        for (const auto& series : batch.build().series) {
            const auto block = parse_block_untrusted(series.block);
            ASSERT_TRUE(block.ok());
            ASSERT_TRUE(dictionary_.add(*block).ok());
        }
        ASSERT_TRUE(dictionary_.finish().ok());
        for (std::uint32_t number = 1; number <= kNodes; ++number) {  // most of them aren't defined
            counts_.push_back({0, StackNumber{number}, {1, 1}});
        }
    }

    EpochDictionary dictionary_;
    std::vector<StackCount> counts_;
    QueryMemory memory_;
};

TEST_F(NamedFrames, AreCalledAsEachOfThemByItself) {
    for (const auto& [threads, wanted] : {std::pair{1U, FrameNames::Wanted::kSymbols},
                                          {3U, FrameNames::Wanted::kSymbols},
                                          {1U, FrameNames::Wanted::kAddresses},
                                          {3U, FrameNames::Wanted::kAddresses}}) {
        Symbolizer symbolizer{nullptr, {}};
        FrameNames names{symbolizer, memory_, threads, wanted};
        names.name_epoch(dictionary_, counts_);
        std::set<std::pair<std::string, std::string>> texts;
        for (const StackCount& count : counts_) {
            const Frame& frame = dictionary_.stack(count.stack).frame;
            const ImageDefinition& image = dictionary_.image(frame.image);
            const FrameName name = names.name_of(count.stack);
            ASSERT_EQ(names.symbols().text(name.symbol),
                      shown_name(symbolizer, image, frame.offset, wanted == FrameNames::Wanted::kAddresses));
            ASSERT_EQ(names.images().text(name.image), Symbolizer::image_display_name(image));
            texts.emplace(names.symbols().text(name.symbol), names.images().text(name.image));
        }
        texts.emplace("[unknown]", "[unknown]");
        EXPECT_EQ(names.name_count(), texts.size()) << "one number for each";
        EXPECT_EQ(names.symbols().text(names.name_of(kEmptyStack).symbol), "[unknown]");
    }
}

// diff compares builds, whose functions begin elsewhere.
TEST(NamelessFrames, AreFunctionsExceptWhereBuildsAreCompared) {
    const auto folder = TemporaryFolder::make("perfleet-names-");
    ASSERT_TRUE(folder.ok());
    const std::string stripped = (*folder)->path() + "/stripped";
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    ASSERT_EQ(std::system(("strip -o '" + stripped + "' '" + program + "'").c_str()), 0);
    const auto file = ElfFile::open(stripped);
    ASSERT_TRUE(file.ok());
    const std::vector<std::uint64_t> starts = function_starts(**file);
    ASSERT_GT(starts.size(), 100U);
    SampleBatch batch{TargetId{1}, SessionId{1, 2}, Seq{1}, EpochNumber{0}, BucketNumber{1}};
    batch.add_images({{0, image_flags::kFileOffset, std::string{(*file)->build_id()}, stripped}});
    std::vector<SampleBatch::Stack> stacks;
    for (std::uint32_t number = 1; number <= 100; ++number) {
        for (const ElfSegment& segment : (*file)->segments()) {
            if (starts[number] >= segment.address && starts[number] < segment.address + segment.size_bytes) {
                stacks.push_back({number, 0, 0, starts[number] - segment.address + segment.file_offset + 1});
            }
        }
    }
    batch.add_stacks(stacks);
    EpochDictionary dictionary;
    for (const auto& series : batch.build().series) {
        const auto block = parse_block_untrusted(series.block);
        ASSERT_TRUE(block.ok());
        ASSERT_TRUE(dictionary.add(*block).ok());
    }
    ASSERT_TRUE(dictionary.finish().ok());
    std::vector<StackCount> counts;
    for (std::uint32_t number = 1; number <= 100; ++number) {
        counts.push_back({0, StackNumber{number}, {1, 1}});
    }
    const QueryMemory memory;
    Symbolizer symbolizer{nullptr, {}};
    const auto nameless_of = [&](FrameNames::Wanted wanted) {
        FrameNames names{symbolizer, memory, 1, wanted};
        names.name_epoch(dictionary, counts);
        std::set<std::string> texts;
        for (const StackCount& count : counts) {
            if (std::string text = names.symbols().text(names.name_of(count.stack).symbol);
                text.starts_with("[stripped")) {
                texts.insert(std::move(text));
            }
        }
        return texts;
    };
    EXPECT_EQ(nameless_of(FrameNames::Wanted::kComparable), std::set<std::string>{"[stripped]"});
    const std::set<std::string> functions = nameless_of(FrameNames::Wanted::kSymbols);
    EXPECT_GT(functions.size(), 50U);
    EXPECT_FALSE(functions.contains("[stripped]"));
}

TEST(ComparableName, IsThatOfAStrippedBuildOfGo) {
    EXPECT_EQ(comparable_name("runtime.goexit.abi0"), "runtime.goexit");
    EXPECT_EQ(comparable_name("runtime.goexit"), "runtime.goexit");
    EXPECT_EQ(comparable_name(".abi0"), "");
}

TEST_F(NamedFrames, KeepTheirNumbersInTheNextEpoch) {
    Symbolizer symbolizer{nullptr, {}};
    FrameNames names{symbolizer, memory_, 2};
    names.name_epoch(dictionary_, counts_);
    std::vector<std::uint32_t> before;
    for (const StackCount& count : counts_) {
        before.push_back(names.number_of(count.stack));
    }
    const std::size_t name_count = names.name_count();
    names.name_epoch(dictionary_, std::span{counts_}.first(5'000));
    for (std::size_t i = 0; i < 5'000; ++i) {
        EXPECT_EQ(names.number_of(counts_[i].stack), before[i]);
    }
    EXPECT_EQ(names.name_count(), name_count);
}

TEST_F(NamedFrames, HaveOnlyTheirImagesWhereNoSymbolsAreWanted) {
    Symbolizer symbolizer{nullptr, {}};
    FrameNames names{symbolizer, memory_, 2, FrameNames::Wanted::kImagesAlone};
    names.name_epoch(dictionary_, counts_);
    for (const StackCount& count : counts_) {
        const ImageDefinition& image = dictionary_.image(dictionary_.stack(count.stack).frame.image);
        ASSERT_EQ(names.images().text(names.name_of(count.stack).image), Symbolizer::image_display_name(image));
    }
    EXPECT_TRUE(symbolizer.warnings().empty()) << "nobody looked for a file";
}

}  // namespace
}  // namespace perfleet::frame_names_test
