#include "storage/dictionary/partition_dictionary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "schemas/text/hex.h"
#include "schemas/vocabulary/dictionary_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "storage/dictionary/partition_nodes.h"

namespace perfleet::partition_dictionary_test {
namespace {

PartitionDictionary sample_dictionary() {
    PartitionDictionary dictionary;
    dictionary.images = {{{image_flags::kKernel, 0, 5, "\x12\x34", "[k]"}, 0},
                         {{image_flags::kFileOffset, 0, 0, "", "/bin/zz"}, 0},
                         {{image_flags::kKernel | image_flags::kKernelModule, 0x4000, 7, "", "[m]"}, 1}};
    dictionary.nodes = {{0, 0, 16}, {1, 1, 24}, {2, 1, 1}, {1, 1, 300}, {0, 2, 8}};
    return dictionary;
}

TEST(PartitionDictionary, IsReadAsItWasWritten) {
    const auto back = decode_dictionary_untrusted(encode_dictionary(sample_dictionary()));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, sample_dictionary());
    EXPECT_EQ(peek_node_count_untrusted(encode_dictionary(sample_dictionary())), 5U);
}

TEST(PartitionDictionary, HasTheBytesOfTheFormat) {
    const std::string bytes = encode_dictionary(sample_dictionary());
    EXPECT_EQ(hex_of(bytes.substr(0, bytes.size() - 4)),
              "0105"  // version, nodes
              "03"    // images: flags, address, size, build-id, name, kernel
              "010005"
              "021234"
              "035b6b5d"
              "00"
              "020000"
              "00"
              "072f62696e2f7a7a"
              "00"
              "21808001"
              "07"
              "00"
              "035b6d5d"
              "01"
              "000010"    // steps up, image, offset
              "000118"    // called by the one before
              "000101"    // likewise
              "02009402"  // two steps up, behind a sibling of the same image: differences
              "020208");  // behind a sibling of another one
    EXPECT_EQ(hex_of(bytes.substr(bytes.size() - 4)),
              hex_of(std::string{static_cast<char>(dictionary_checksum(bytes) & 0xffU),
                                 static_cast<char>(dictionary_checksum(bytes) >> 8U & 0xffU),
                                 static_cast<char>(dictionary_checksum(bytes) >> 16U & 0xffU),
                                 static_cast<char>(dictionary_checksum(bytes) >> 24U)}));
    const StackMap map{0x01020304, {EpochNumber{3}, 7, {{Seq{1}, Seq{4}}}}, {0, 5, 4, 0, 1}};
    const std::string map_bytes = encode_stack_map(map);
    EXPECT_EQ(hex_of(map_bytes.substr(0, 5 + 5 + 1)),
              "01040302010307010103"
              "05");
    const auto back = decode_stack_map_untrusted(map_bytes);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, map);
}

TEST(PartitionDictionary, OfDamagedBytesGivesAnError) {
    const std::string bytes = encode_dictionary(sample_dictionary());
    const std::string map = encode_stack_map({7, {EpochNumber{3}, 7, {{Seq{1}, Seq{4}}}}, {0, 5, 4, 0, 1}});
    for (std::size_t at = 0; at < std::max(bytes.size(), map.size()); ++at) {
        const auto damaged = [&](std::string of) {
            of[at % of.size()] = static_cast<char>(of[at % of.size()] ^ 4);
            return of;
        };
        EXPECT_FALSE(decode_dictionary_untrusted(damaged(bytes)).ok()) << at;
        EXPECT_FALSE(decode_dictionary_untrusted(bytes.substr(0, at % bytes.size())).ok()) << at;
        EXPECT_FALSE(decode_stack_map_untrusted(damaged(map)).ok()) << at;
        EXPECT_FALSE(decode_stack_map_untrusted(map.substr(0, at % map.size())).ok()) << at;
    }
}

TEST(PartitionDictionary, ThatContradictsItselfIsRefused) {
    const auto refuses = [](auto change) {
        PartitionDictionary dictionary = sample_dictionary();
        change(dictionary);
        return !decode_dictionary_untrusted(encode_dictionary(dictionary)).ok();
    };
    EXPECT_FALSE(refuses([](PartitionDictionary&) {}));
    EXPECT_TRUE(refuses([](PartitionDictionary& one) { std::swap(one.images[0], one.images[1]); }));
    EXPECT_TRUE(refuses([](PartitionDictionary& one) { one.images[2].kernel = 3; }));
    EXPECT_TRUE(refuses([](PartitionDictionary& one) { one.nodes[4].image = 3; }));
    EXPECT_TRUE(refuses([](PartitionDictionary& one) { one.nodes[3] = one.nodes[1]; }));
    EXPECT_TRUE(refuses([](PartitionDictionary& one) { one.nodes[3].offset = 3; }));
    EXPECT_TRUE(refuses([](PartitionDictionary& one) { one.images.clear(); }));
}

TEST(PartitionDictionary, HasItsImagesInOrder) {
    PartitionDictionary dictionary;
    for (const char build_id : {'a', 'c', 'b'}) {
        dictionary.images.push_back({{image_flags::kFileOffset, 0, 0, {build_id}, "/bin/x"}, 0});
    }
    EXPECT_FALSE(decode_dictionary_untrusted(encode_dictionary(dictionary)).ok());
    std::swap(dictionary.images[1], dictionary.images[2]);
    EXPECT_EQ(*decode_dictionary_untrusted(encode_dictionary(dictionary)), dictionary);
    dictionary.images[2] = dictionary.images[1];
    EXPECT_FALSE(decode_dictionary_untrusted(encode_dictionary(dictionary)).ok()) << "twice";
}

// Also one that stands right before it.
TEST(PartitionDictionary, AModuleHasItsOwnKernel) {
    PartitionDictionary dictionary;
    dictionary.images = {{{image_flags::kKernel, 0, 5, "\x12", "[k]"}, 0},
                         {{image_flags::kKernel, 0, 5, "\x13", "[k]"}, 0},
                         {{image_flags::kKernel | image_flags::kKernelModule, 0x4000, 7, "", "[m]"}, 1},
                         {{image_flags::kKernel | image_flags::kKernelModule, 0x4000, 7, "", "[m]"}, 2}};
    EXPECT_EQ(*decode_dictionary_untrusted(encode_dictionary(dictionary)), dictionary);
    const auto numbers = epoch_dictionary_of(dictionary);
    ASSERT_TRUE(numbers.ok());
    EXPECT_EQ(numbers->kernel_of(ImageNumber{2}), ImageNumber{0});
    EXPECT_EQ(numbers->kernel_of(ImageNumber{3}), ImageNumber{1});
    dictionary.images.erase(dictionary.images.begin() + 1);
    dictionary.images.pop_back();
    EXPECT_EQ(*decode_dictionary_untrusted(encode_dictionary(dictionary)), dictionary);
}

TEST(PartitionDictionary, TheNumberOfItsNodesCanBePeekedAt) {
    EXPECT_EQ(peek_node_count_untrusted(std::string_view{"\x01\x05\x00", 3}), 5U);
    EXPECT_EQ(peek_node_count_untrusted(std::string_view{"\x01\x85\x01", 3}), 133U);
    EXPECT_EQ(peek_node_count_untrusted(std::string_view{"\x01\x80\x80\x80\x80\x01", 6}), 1ULL << 28U);
    EXPECT_EQ(peek_node_count_untrusted(std::string_view{"\x01\x80\x80\x80\x80\x80\x01", 7}), 0U) << "too long";
    EXPECT_EQ(peek_node_count_untrusted(std::string_view{"\x01\x85", 2}), 0U) << "cut";
    EXPECT_EQ(peek_node_count_untrusted(""), 0U);
}

// -- put together from epochs -----------------------------------------------------------------------------------------

ImageDefinition file(char build_id) {
    return {image_flags::kFileOffset, 0, 0, std::string(20, build_id), std::string{"/bin/"} + build_id};
}
ImageDefinition kernel(std::uint64_t address, char build_id = 'k') {
    return {image_flags::kKernel, address, 1'000, std::string(20, build_id), "[kernel.kallsyms]"};
}
ImageDefinition module(std::uint64_t address) {
    return {image_flags::kKernel | image_flags::kKernelModule, address, 100, "", "[ext4]"};
}

struct DefinedNode {
    std::uint32_t number, parent, image;
    std::uint64_t offset;
};

EpochDictionary epoch_of(const std::vector<ImageDefinition>& images, const std::vector<DefinedNode>& nodes) {
    EpochDictionary epoch;
    for (std::uint32_t i = 0; i < images.size(); ++i) {
        EXPECT_TRUE(epoch.define_image(ImageNumber{i}, images[i]).ok());
    }
    for (const DefinedNode& node : nodes) {
        const Frame frame{ImageNumber{node.image}, node.offset};
        EXPECT_TRUE(epoch.define_stack(StackNumber{node.number}, {StackNumber{node.parent}, frame}).ok());
    }
    EXPECT_TRUE(epoch.finish().ok());
    return epoch;
}

// Chains of a few frames, of a few images under numbers of this epoch's own.
EpochDictionary random_epoch(std::mt19937_64& random) {
    std::vector<ImageDefinition> images{file('a'), file('b'), file('c')};
    std::shuffle(images.begin(), images.end(), random);
    std::vector<DefinedNode> nodes;
    for (std::uint32_t number = 1; number <= 60; ++number) {
        const DefinedNode node{number, static_cast<std::uint32_t>(random() % number),
                               static_cast<std::uint32_t>(random() % 3), 16 * (random() % 4)};
        nodes.push_back(node);
    }
    return epoch_of(images, nodes);
}

using Chain = std::vector<std::pair<ImageDefinition, std::uint64_t>>;

Chain chain_in(const EpochDictionary& dictionary, StackNumber number) {
    Chain chain;
    for (; number != kEmptyStack; number = caller_of(dictionary, number)) {
        const Frame& frame = dictionary.stack(number).frame;
        chain.emplace_back(dictionary.image(frame.image), frame.offset);
    }
    return chain;
}

TEST(PartitionNodes, MapEachStackToTheSameChainAndTellEachChainOnce) {
    std::mt19937_64 random{11};
    for (int round = 0; round < 20; ++round) {
        std::vector<EpochDictionary> epochs;
        PartitionNodes nodes;
        std::set<Chain> chains;
        for (int i = 0; i < 8; ++i) {
            epochs.push_back(random_epoch(random));
            ASSERT_TRUE(nodes.add(epochs.back()));
        }
        const PartitionNodes::Made made = std::move(nodes).finish();
        const auto back = decode_dictionary_untrusted(encode_dictionary(made.dictionary));
        ASSERT_TRUE(back.ok()) << back.error().message;
        EXPECT_EQ(*back, made.dictionary);
        const auto dictionary = epoch_dictionary_of(*back);
        ASSERT_TRUE(dictionary.ok());
        for (std::size_t i = 0; i < epochs.size(); ++i) {
            ASSERT_EQ(made.maps[i].size(), epochs[i].stack_count());
            for (std::uint32_t number = 1; number < epochs[i].stack_count(); ++number) {
                const Chain chain = chain_in(epochs[i], StackNumber{number});
                EXPECT_EQ(chain_in(*dictionary, StackNumber{made.maps[i][number]}), chain);
                chains.insert(chain);
            }
            EXPECT_TRUE(check_stack_map(epochs[i], made.maps[i], *back).ok());
            std::vector<std::uint32_t> wrong = made.maps[i];
            std::swap(wrong[1], wrong[2]);
            EXPECT_EQ(check_stack_map(epochs[i], wrong, *back).ok(), wrong == made.maps[i]);
        }
        EXPECT_EQ(made.dictionary.nodes.size(), chains.size());
    }
}

TEST(PartitionNodes, AreTheSameWhateverTheOrderOfEpochs) {
    std::mt19937_64 random{12};
    std::vector<EpochDictionary> epochs;
    for (int i = 0; i < 6; ++i) {
        epochs.push_back(random_epoch(random));
    }
    PartitionNodes forwards;
    PartitionNodes backwards;
    for (std::size_t i = 0; i < epochs.size(); ++i) {
        ASSERT_TRUE(forwards.add(epochs[i]));
        ASSERT_TRUE(backwards.add(epochs[epochs.size() - 1 - i]));
    }
    EXPECT_EQ(std::move(forwards).finish().dictionary, std::move(backwards).finish().dictionary);
}

// A kernel lies elsewhere after each boot, and so do its modules.
TEST(PartitionNodes, ShareKernelsWhereverTheyLie) {
    PartitionNodes nodes;
    ASSERT_TRUE(nodes.add(epoch_of({kernel(0x1000), module(0x9000)}, {{1, 0, 0, 16}, {2, 1, 1, 8}})));
    ASSERT_TRUE(nodes.add(epoch_of({module(0xa000), kernel(0x2000)}, {{1, 0, 1, 16}, {2, 1, 0, 8}})));
    ASSERT_TRUE(nodes.add(epoch_of({kernel(0x3000), module(0x3400)}, {{1, 0, 0, 16}, {2, 1, 1, 8}})));
    // Another kernel with a module as far from it, whose symbols are to be looked for among that one's.
    EXPECT_FALSE(nodes.add(epoch_of({kernel(0x1000, 'o'), module(0x9000)}, {{1, 0, 0, 16}, {2, 1, 1, 8}})));
    EXPECT_FALSE(nodes.add(epoch_of({file('a'), module(0x9000)}, {{1, 0, 1, 16}})));
    const PartitionNodes::Made made = std::move(nodes).finish();
    EXPECT_EQ(made.dictionary.nodes.size(), 3U);
    ASSERT_EQ(made.dictionary.images.size(), 3U);
    EXPECT_EQ(made.dictionary.images[0].definition, kernel(0));
    EXPECT_EQ(made.dictionary.images[1].definition, module(0x400));
    EXPECT_EQ(made.dictionary.images[2].definition, module(0x8000));
    EXPECT_EQ(made.dictionary.images[2].kernel, 1U);
    EXPECT_EQ(made.maps[0], made.maps[1]);
    EXPECT_NE(made.maps[0], made.maps[2]);
    const auto dictionary = epoch_dictionary_of(made.dictionary);
    ASSERT_TRUE(dictionary.ok());
    EXPECT_EQ(dictionary->kernel_of(ImageNumber{2}), ImageNumber{0});
}

// No name depends on where in such memory a frame lies; of files each offset is a frame.
TEST(PartitionNodes, TellFramesWithoutAFileOnce) {
    const ImageDefinition heap{image_flags::kAnonymous, 0, 0, "", "//anon"};
    PartitionNodes nodes;
    ASSERT_TRUE(nodes.add(epoch_of({heap, file('a')}, {{1, 0, 0, 16}, {2, 0, 0, 800}, {3, 2, 1, 8}, {4, 1, 1, 9}})));
    const PartitionNodes::Made made = std::move(nodes).finish();
    EXPECT_EQ(made.maps[0], (std::vector<std::uint32_t>{0, 1, 1, 2, 3}));
}

TEST(PartitionNodes, LeaveOutWhatIsNotWholeOrHasNoRoom) {
    PartitionNodes nodes{4};
    EXPECT_FALSE(nodes.add(epoch_of({file('a')}, {{1, 0, 0, 16}, {3, 2, 0, 8}})));  // no caller
    EXPECT_FALSE(nodes.add(epoch_of({file('a')}, {{1, 0, 1, 16}})));                // no image
    EXPECT_TRUE(nodes.add(epoch_of({file('a')}, {{1, 0, 0, 16}, {3, 1, 0, 8}})));   // 2 is the caller of no node
    EXPECT_TRUE(nodes.add(epoch_of({file('b')}, {{1, 0, 0, 16}, {2, 1, 0, 8}})));
    EXPECT_FALSE(nodes.add(epoch_of({file('a')}, {{1, 0, 0, 16}, {2, 1, 0, 9}})));
    EXPECT_TRUE(nodes.add(epoch_of({file('a')}, {{1, 0, 0, 16}, {2, 1, 0, 8}})));  // there is no more of it than before
    EXPECT_EQ(nodes.epoch_count(), 3U);
    const PartitionNodes::Made made = std::move(nodes).finish();
    EXPECT_EQ(made.dictionary.nodes.size(), 4U);
    EXPECT_EQ(made.maps[0][2], 0U);
    EXPECT_NE(made.maps[0][3], 0U);
}

// What only epochs that were left out define isn't kept.
TEST(PartitionNodes, KeepWhatAMapNeeds) {
    PartitionNodes nodes{3};
    EXPECT_FALSE(nodes.add(epoch_of({file('a')}, {{1, 0, 0, 1}, {2, 0, 0, 2}, {3, 0, 0, 3}, {4, 0, 0, 4}})));
    EXPECT_TRUE(nodes.add(epoch_of({file('a')}, {{1, 0, 0, 2}})));
    const PartitionNodes::Made made = std::move(nodes).finish();
    EXPECT_EQ(made.dictionary.nodes, (std::vector<PartitionDictionary::Node>{{0, 0, 2}}));
    EXPECT_EQ(made.maps, (std::vector<std::vector<std::uint32_t>>{{0, 1}}));
}

}  // namespace
}  // namespace perfleet::partition_dictionary_test
