#include "storage/summary/day_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "schemas/text/hex.h"
#include "storage/model/row_cover.h"
#include "storage/store/testing/sample_batches.h"
#include "storage/summary/day_sums.h"

namespace perfleet::day_summary_test {
namespace {

constexpr std::uint64_t kHourTicks = 3'600'000'000'000;

DaySummary sample_day() {
    DaySummary day;
    day.row_count = 9;
    day.first_ticks = Ticks{300};
    day.last_ticks = Ticks{428};
    const RowCover meaning{EpochNumber{3}, 7, {{Seq{1}, Seq{1}}}};
    day.hours = {{{BucketNumber{24}, 1, 2}, {EpochNumber{3}, 4, {{Seq{1}, Seq{5}}}}, meaning},
                 {{BucketNumber{25}, 1, 2}, {EpochNumber{4}, 5, {{Seq{6}, Seq{6}}}}, {EpochNumber{4}, 0, {}}}};
    day.images = {{1, 0x40, 5, "\x12\x34", "/bin/true"}, {2, 0, 0, "", "/bin/zz"}};
    day.nodes = {{0, 0, 16}, {0, 0, 300}, {0, 1, 8}, {1, 1, 24}, {3, 0, 1}};
    day.names = {{"a", 1}, {"sh", 3}};
    day.weights = {90, 900};
    day.sums = {{StackNumber{4}, 6, 60}, {StackNumber{0}, 1, 10}, {StackNumber{5}, 2, 20}};
    return day;
}

TEST(DaySummary, IsReadAsItWasWritten) {
    const DaySummary day = sample_day();
    const auto back = decode_summary_untrusted(encode_summary(day));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, day);
    DaySummary uneven = day;
    uneven.sums[1].weight = 49;
    const auto uneven_back = decode_summary_untrusted(encode_summary(uneven));
    ASSERT_TRUE(uneven_back.ok()) << uneven_back.error().message;
    EXPECT_EQ(*uneven_back, uneven);
}

TEST(DaySummary, HasTheBytesOfTheFormat) {
    EXPECT_EQ(hex_of(encode_summary(sample_day())),
              "0109ac028001"  // version, rows, first and last tick
              "5a00840700"    // magnitudes and squares of the weights
              "02"            // hours: partition, its rows, what gives them meaning
              "180102"
              "0304010104"
              "0307010100"
              "190102"
              "0405010600"
              "040000"
              "02"  // images
              "014005"
              "021234"
              "092f62696e2f74727565"
              "020000"
              "00"
              "072f62696e2f7a7a"
              "05"                    // nodes
              "010402004003"          // their callers
              "010301000c"            // images
              "010809010f561eb80000"  // offsets
              "02"                    // names
              "0161"
              "027368"
              "0103020108"    // where their sums end
              "0a"            // each row's weight
              "03"            // sums
              "010403004401"  // nodes
              "010403014500"  // rows
              "2872457b");    // CRC-32C
}

TEST(DaySummary, OfDamagedBytesGivesAnErrorOrWhatHolds) {
    const std::string bytes = encode_summary(sample_day());
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ 4);
        EXPECT_FALSE(decode_summary_untrusted(damaged).ok()) << at;
        EXPECT_FALSE(decode_summary_untrusted(bytes.substr(0, at)).ok()) << at;
    }
    std::string newer = bytes;
    newer[0] = 2;
    EXPECT_FALSE(decode_summary_untrusted(newer).ok());
}

TEST(DaySummary, ThatContradictsItselfIsRefused) {
    const auto refuses = [](auto change) {
        DaySummary day = sample_day();
        change(day);
        return !decode_summary_untrusted(encode_summary(day)).ok();
    };
    EXPECT_FALSE(refuses([](DaySummary&) {}));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.row_count = 10; }));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.hours[0].rows.row_count = 3; }));
    EXPECT_TRUE(refuses([](DaySummary& day) { std::swap(day.hours[0], day.hours[1]); }));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.hours[0].meaning.epoch = EpochNumber{4}; }));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.hours[0].rows.seqs.clear(); }));
    EXPECT_TRUE(refuses([](DaySummary& day) { std::swap(day.images[0], day.images[1]); }));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.nodes[3].image = 2; }));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.nodes[4].parent = 5; }));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.nodes[1] = day.nodes[0]; }));
    EXPECT_TRUE(refuses([](DaySummary& day) { std::swap(day.names[0].text, day.names[1].text); }));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.names[1].text = day.names[0].text; }));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.images[1] = day.images[0]; }));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.sums[2].stack = StackNumber{6}; }));
    EXPECT_TRUE(refuses([](DaySummary& day) { day.names[0].sums_end = 0; }));
}

TEST(DaySummary, SaysWhatItsNumbersMean) {
    const auto dictionary = dictionary_of(sample_day());
    ASSERT_TRUE(dictionary.ok());
    EXPECT_EQ(dictionary->stack(StackNumber{4}).parent, StackNumber{1});
    EXPECT_EQ(dictionary->stack(StackNumber{4}).frame.offset, 24U);
    EXPECT_EQ(dictionary->image(dictionary->stack(StackNumber{4}).frame.image).name, "/bin/zz");
}

// An hour's rows, with numbers of its own.
class Hour {
public:
    struct Row {
        std::uint64_t ticks = 0;  // since the hour began
        std::uint32_t tid = 0;
        std::vector<std::pair<std::uint32_t, std::uint64_t>> frames;  // image and offset, outermost first
        std::uint64_t weight = 0;
    };

    Hour(std::uint32_t number, std::mt19937_64& random)
        : number_{number},
          sh_{static_cast<std::uint32_t>(1 + random() % 2)},
          image_shift_{static_cast<std::uint32_t>(random() % 3)} {}

    void add(const Row& row) {
        std::uint32_t node = 0;
        for (const auto& [image, offset] : row.frames) {
            const auto [entry, is_new] =
                nodes_.try_emplace({node, image, offset}, static_cast<std::uint32_t>(nodes_.size() + 1));
            if (is_new) {
                stacks_.push_back({entry->second, node, (image + image_shift_) % 3, offset});
            }
            node = entry->second;
        }
        rows_[ColumnId::kTime].push_back(number_ * kHourTicks + row.ticks);
        rows_[ColumnId::kPid].push_back(row.tid % 2);
        rows_[ColumnId::kTid].push_back(row.tid);
        rows_[ColumnId::kStack].push_back(node);
        rows_[ColumnId::kWeight].push_back(row.weight);
    }

    // Thread 10 is called sh, thread 11 xz; others have no name.
    [[nodiscard]] bool add_to(DaySums& sums) const {
        SampleBatch batch{TargetId{1}, SessionId{1, 1}, Seq{number_ + 1}, EpochNumber{number_}, BucketNumber{number_}};
        std::vector<SampleBatch::Image> images;
        for (std::uint32_t image = 0; image < 3; ++image) {
            images.push_back({(image + image_shift_) % 3, 0, std::string(20, 'b'), "image " + std::to_string(image)});
        }
        const auto present = static_cast<std::uint64_t>(TaskOp::kPresent);
        batch.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {1, 1}},
                                            {ColumnId::kTaskOp, {present, present}},
                                            {ColumnId::kTid, {10, 11}},
                                            {ColumnId::kString, {sh_, 3 - sh_}}});
        batch.add({Kind::kSample, EventNumber{0}}, rows_);
        batch.add_strings({{sh_, "sh"}, {3 - sh_, "xz"}}).add_images(images);
        if (!stacks_.empty()) {
            batch.add_stacks(stacks_);
        }
        const AdmittedBatch built = batch.build();
        DecodedRows samples;
        EpochDictionary dictionary;
        ThreadNames names;
        RowCover meaning{EpochNumber{number_}, 0, {{Seq{number_ + 1}, Seq{number_ + 1}}}};
        for (const BatchSeries& series : built.series) {
            const auto block = parse_block_untrusted(series.block);
            DecodedRows decoded;
            EXPECT_TRUE(block.ok() && decoded.decode(*block).ok());
            meaning.row_count += gives_meaning(series.series.kind) ? series.row_count : 0;
            if (series.series.kind == Kind::kSample) {
                samples = std::move(decoded);
            } else if (series.series.kind == Kind::kTask) {
                names.add(decoded);
            } else {
                EXPECT_TRUE(dictionary.add(*block).ok());
            }
        }
        EXPECT_TRUE(dictionary.finish().ok());
        names.finish(dictionary);
        sums.begin({{BucketNumber{number_}, 0, 1}, meaning, dictionary, names});
        return sums.add_rows(samples, 0, samples.row_count(), Seq{number_ + 1}, false);
    }

private:
    std::uint32_t number_;
    std::uint32_t sh_;  // the number of a name
    std::uint32_t image_shift_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t> nodes_;
    std::vector<SampleBatch::Stack> stacks_;
    SampleIntegers rows_;
};

// By name and chain (image and offset, outermost first): rows and weight.
using Counted = std::map<std::pair<std::string, std::vector<std::pair<std::string, std::uint64_t>>>,
                         std::pair<std::uint64_t, std::uint64_t>>;

Counted counted_of(const DaySummary& day) {
    Counted counted;
    std::size_t at = 0;
    for (const DaySummary::Name& name : day.names) {
        for (; at < name.sums_end; ++at) {
            std::vector<std::pair<std::string, std::uint64_t>> chain;
            for (std::uint32_t node = day.sums[at].stack.value; node != 0; node = day.nodes[node - 1].parent) {
                chain.emplace_back(day.images[day.nodes[node - 1].image].name, day.nodes[node - 1].offset);
            }
            std::reverse(chain.begin(), chain.end());
            counted[{name.text, chain}] = {day.sums[at].row_count, day.sums[at].weight};
        }
    }
    return counted;
}

// Whatever numbers an hour's strings, images and chains have, and in whatever order its rows come.
TEST(DaySums, AreThoseOfAllRowsByContent) {
    std::mt19937_64 random{5};
    std::vector<std::vector<Hour::Row>> rows(6);
    Counted expected;
    for (auto& hour : rows) {
        for (int i = 0; i < 300; ++i) {
            Hour::Row row{random() % kHourTicks, static_cast<std::uint32_t>(10 + random() % 4), {}, random() % 100};
            std::vector<std::pair<std::string, std::uint64_t>> chain;
            for (std::uint64_t depth = random() % 5; depth > 0; --depth) {
                row.frames.emplace_back(random() % 3, random() % 4);
                chain.emplace_back("image " + std::to_string(row.frames.back().first), row.frames.back().second);
            }
            const std::string name = row.tid == 10 ? "sh" : row.tid == 11 ? "xz" : ":" + std::to_string(row.tid);
            auto& [row_count, weight] = expected[{name, chain}];
            ++row_count;
            weight += row.weight;
            hour.push_back(std::move(row));
        }
    }
    WeightTotal weights;
    for (const auto& hour : rows) {
        for (const Hour::Row& row : hour) {
            weights.magnitudes += row.weight;
            weights.squares += row.weight * row.weight;
        }
    }
    std::string first_bytes;
    for (int round = 0; round < 4; ++round) {
        DaySums sums;
        for (std::uint32_t number = 0; number < rows.size(); ++number) {
            std::shuffle(rows[number].begin(), rows[number].end(), random);
            Hour hour{number, random};
            for (const Hour::Row& row : rows[number]) {
                hour.add(row);
            }
            ASSERT_TRUE(hour.add_to(sums));
        }
        const DaySummary day = sums.summary();
        EXPECT_EQ(day.row_count, 1'800U);
        EXPECT_EQ(day.hours.size(), 6U);
        EXPECT_EQ(counted_of(day), expected);
        EXPECT_TRUE(day.weights == weights);
        const std::string bytes = encode_summary(day);
        EXPECT_LE(bytes.size(), sums.size_bytes_max());
        const auto back = decode_summary_untrusted(bytes);
        ASSERT_TRUE(back.ok()) << back.error().message;
        EXPECT_EQ(*back, day);
        first_bytes = round == 0 ? bytes : first_bytes;
        EXPECT_EQ(bytes, first_bytes);
    }
}

// An epoch of an hour, of which each row is one of a chain that has one frame, or none.
class ShortChains {
public:
    ShortChains(std::uint32_t number, const std::vector<SampleBatch::Image>& images,
                const std::vector<SampleBatch::Stack>& stacks)
        : number_{number} {
        SampleBatch batch{TargetId{1}, SessionId{1, 1}, Seq{1}, EpochNumber{number}, BucketNumber{number}};
        batch.add_images(images).add_stacks(stacks);
        for (const BatchSeries& series : batch.build().series) {
            EXPECT_TRUE(dictionary_.add(*parse_block_untrusted(series.block)).ok());
        }
        EXPECT_TRUE(dictionary_.finish().ok());
        names_.finish(dictionary_);
    }

    [[nodiscard]] bool add_to(DaySums& sums, const std::vector<std::uint64_t>& chains) const {
        SampleBatch batch{TargetId{1}, SessionId{1, 1}, Seq{2}, EpochNumber{number_}, BucketNumber{number_}};
        batch.add({Kind::kSample, EventNumber{0}},
                  {{ColumnId::kTime, std::vector<std::uint64_t>(chains.size(), number_ * kHourTicks)},
                   {ColumnId::kStack, chains}});
        DecodedRows rows;
        const AdmittedBatch built = batch.build();
        EXPECT_TRUE(rows.decode(*parse_block_untrusted(built.series[0].block)).ok());
        sums.begin({{BucketNumber{number_}, 0, 1}, {EpochNumber{number_}, 0, {}}, dictionary_, names_});
        return sums.add_rows(rows, 0, chains.size(), Seq{2}, false);
    }

private:
    std::uint32_t number_;
    EpochDictionary dictionary_;
    ThreadNames names_;
};

const SampleBatch::Image kKernel{0, image_flags::kKernel, "one", "[kernel.kallsyms]"};
const SampleBatch::Image kModule{1, image_flags::kKernel | image_flags::kKernelModule, "mod", "[ext4]"};
const SampleBatch::Image kProgram{2, 0, "bin", "/bin/true"};

// Names of its functions need it.
TEST(DaySums, NameTheKernelOfAModuleThatHasRows) {
    DaySums sums;
    const ShortChains chains(0, {kKernel, kModule, kProgram}, {{1, 0, 1, 5}});
    ASSERT_TRUE(chains.add_to(sums, {1}));
    std::vector<std::string> images;
    for (const ImageDefinition& image : sums.summary().images) {
        images.push_back(image.name);
    }
    std::sort(images.begin(), images.end());
    EXPECT_EQ(images, (std::vector<std::string>{"[ext4]", "[kernel.kallsyms]"}));
}

TEST(DaySums, AreOfOneKernel) {
    SampleBatch::Image other = kKernel;
    other.build_id = "another";
    DaySums sums;
    const ShortChains program(0, {kProgram}, {{1, 0, 2, 5}});
    ASSERT_TRUE(program.add_to(sums, {1}));
    const ShortChains kernel(1, {kKernel}, {{1, 0, 0, 5}});
    ASSERT_TRUE(kernel.add_to(sums, {1, 0}));
    const ShortChains another(2, {other}, {{1, 0, 0, 5}});
    EXPECT_FALSE(another.add_to(sums, {1}));
    const ShortChains kernel_again(3, {kKernel}, {{1, 0, 0, 5}});
    ASSERT_TRUE(kernel_again.add_to(sums, {1}));
    EXPECT_EQ(sums.hour_count(), 3U);
    EXPECT_EQ(sums.summary().row_count, 4U);
}

TEST(DaySums, CountChainsWhoseDefinitionIsLostAsOne) {
    DaySums sums;
    const std::vector<SampleBatch::Stack> stacks{{1, 0, 2, 5}};
    const ShortChains first(0, {kProgram}, stacks);
    ASSERT_TRUE(first.add_to(sums, {1, 2, 3, 3}));
    const ShortChains second(1, {kProgram}, stacks);
    ASSERT_TRUE(second.add_to(sums, {2, 1, 70'000}));
    const DaySummary day = sums.summary();
    ASSERT_EQ(day.sums.size(), 2U);
    EXPECT_EQ(day.sums[0].row_count + day.sums[1].row_count, 7U);
    EXPECT_EQ(std::max(day.sums[0].row_count, day.sums[1].row_count), 5U);
    EXPECT_EQ(day.nodes.size(), 2U);
}

}  // namespace
}  // namespace perfleet::day_summary_test
