#include "target-collector/process/mapping_list.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>

#include "target-collector/process/process_table.h"

namespace perfleet {
namespace {

Mapping mapping(std::uint64_t start, std::uint64_t end, std::uint64_t file_offset, ImageIndex image) {
    return {start, end, file_offset, image, 5, 2};
}

TEST(MappingList, AgreesWithAMapOfEveryAddress) {
    constexpr std::size_t kAddresses = 200;
    struct Place {
        ImageIndex image;
        std::uint64_t offset;
    };
    std::mt19937_64 random{11};
    for (int round = 0; round < 50; ++round) {
        MappingList list;
        std::array<std::optional<Place>, kAddresses> model;
        for (ImageIndex image = 0; image < 40; ++image) {
            const std::uint64_t start = random() % kAddresses;
            const std::uint64_t end = start + random() % (kAddresses - start + 1);
            const std::uint64_t file_offset = random() % 1'000;
            ASSERT_TRUE(list.add(mapping(start, end, file_offset, image)));
            for (std::uint64_t address = start; address < end; ++address) {
                model[address] = Place{image, address - start + file_offset};
            }
            for (std::uint64_t address = 0; address < kAddresses; ++address) {
                const Mapping* const found = list.find(address);
                ASSERT_EQ(found != nullptr, model[address].has_value());
                if (found != nullptr) {
                    EXPECT_EQ(found->image, model[address]->image);
                    EXPECT_EQ(address - found->start + found->file_offset, model[address]->offset);
                }
            }
        }
    }
}

TEST(MappingList, NoFrameLiesInData) {
    MappingList list;
    Mapping data = mapping(200, 300, 0, 2);
    data.is_data = true;
    ASSERT_TRUE(list.add(mapping(100, 400, 1'000, 1)));
    ASSERT_TRUE(list.add(data));
    EXPECT_EQ(list.mappings().size(), 3U);
    EXPECT_EQ(list.find(250), nullptr);
    ASSERT_NE(list.find(350), nullptr);
    EXPECT_EQ(list.find(350)->file_offset, 1'200U);
}

TEST(MappingList, HoldsAtMostItsLimit) {
    MappingList list;
    for (std::uint64_t i = 0; i < MappingList::kMappingsMax; ++i) {
        ASSERT_TRUE(list.add(mapping(i * 2, i * 2 + 1, 0, 0)));
    }
    const std::uint64_t generation = list.generation();
    EXPECT_FALSE(list.add(mapping(10'000'000, 10'000'001, 0, 0)));
    EXPECT_EQ(list.generation(), generation);
    EXPECT_TRUE(list.add(mapping(0, 100, 0, 1)));
}

TEST(MappingList, EveryChangeIsANewGeneration) {
    MappingList list;
    EXPECT_EQ(list.generation(), 0U);
    list.add(mapping(0, 10, 0, 0));
    const std::uint64_t first = list.generation();
    MappingList other;
    other.add(mapping(0, 10, 0, 0));
    EXPECT_NE(other.generation(), first);
    list.add(mapping(0, 10, 0, 0));
    EXPECT_NE(list.generation(), first);
}

TEST(ProcessTable, ChildrenInheritUntilTheyChange) {
    ProcessTable table;
    table.name_thread(1, 1, "parent");
    table.add_mapping(1, mapping(0, 10, 0, 5));
    table.fork(2, 2, 1, 1);
    ASSERT_NE(table.find(2), nullptr);
    EXPECT_EQ(table.find(2)->mappings->generation(), table.find(1)->mappings->generation());
    table.add_mapping(2, mapping(10, 20, 0, 6));
    EXPECT_EQ(table.find(1)->mappings->find(15), nullptr);
    ASSERT_NE(table.find(2)->mappings->find(15), nullptr);
    EXPECT_EQ(table.find(2)->mappings->find(5)->image, 5U);
    std::string name;
    table.each_thread([&](std::uint32_t tid, const Thread& thread) { name = tid == 2 ? thread.name : name; });
    EXPECT_EQ(name, "parent");
}

TEST(ProcessTable, ExecForgetsMappings) {
    ProcessTable table;
    table.name_thread(1, 1, "a");
    table.add_mapping(1, mapping(0, 10, 0, 5));
    table.exec(1, 1, "b");
    EXPECT_TRUE(table.find(1)->mappings->mappings().empty());
    table.add_mapping(1, mapping(0, 10, 0, 6));
    EXPECT_EQ(table.find(1)->mappings->find(3)->image, 6U);
    table.fork(2, 2, 1, 1);
    table.exec(2, 2, "c");
    EXPECT_NE(table.find(1)->mappings->find(3), nullptr);
}

// As node does to have its text in large pages. Memory elsewhere is JIT code, also where a library was.
TEST(ProcessTable, MemoryInPlaceOfTheProgramsCodeIsThatCode) {
    ProcessTable table;
    table.name_thread(1, 1, "node");
    table.add_mapping(1, mapping(50, 60, 500, 5));  // the program, in two parts
    table.add_mapping(1, mapping(100, 200, 1'000, 5));
    table.add_mapping(1, mapping(300, 400, 0, 6));  // a library
    const Mapping text = table.as_program_text(1, mapping(120, 160, 0, 7));
    EXPECT_EQ(text.image, 5U);
    EXPECT_EQ(text.file_offset, 1'020U);
    EXPECT_EQ(table.as_program_text(1, mapping(310, 320, 0, 7)).image, 7U);
    EXPECT_EQ(table.as_program_text(1, mapping(190, 210, 0, 7)).image, 7U);
    EXPECT_EQ(table.as_program_text(2, mapping(120, 160, 0, 7)).image, 7U);
    table.exec(1, 1, "other");
    EXPECT_EQ(table.as_program_text(1, mapping(120, 160, 0, 7)).image, 7U);
}

TEST(ProcessTable, KeepsAProcessForItsLastSamples) {
    ProcessTable table;
    table.name_thread(1, 1, "a");
    table.fork(1, 2, 1, 1);
    table.exit(1, 1, 100);
    table.prune(1'000);
    ASSERT_NE(table.find(1), nullptr);  // its second thread runs
    table.exit(1, 2, 200);
    table.prune(200);
    EXPECT_NE(table.find(1), nullptr);
    table.prune(201);
    EXPECT_EQ(table.find(1), nullptr);
}

TEST(ProcessTable, ANumberThatIsUsedAgainIsAnotherProcess) {
    ProcessTable table;
    table.name_thread(1, 1, "shell");
    table.add_mapping(1, mapping(0, 10, 0, 1));
    table.fork(2, 2, 1, 1);
    table.exit(2, 2, 100);
    table.name_thread(9, 9, "other");
    table.fork(2, 2, 9, 9);
    table.prune(1'000);
    ASSERT_NE(table.find(2), nullptr);
    EXPECT_EQ(table.find(2)->mappings->find(5), nullptr);
}

// The exits weren't reported: data of the previous process aren't the new one's.
TEST(ProcessTable, ANumberThatIsUsedAgainWithoutAnExitIsAnotherProcess) {
    ProcessTable table;
    table.name_thread(2, 2, "before");
    table.fork(2, 3, 2, 2);
    table.add_mapping(2, mapping(0, 10, 0, 1));
    table.name_thread(9, 9, "other");
    table.fork(2, 2, 9, 9);
    ASSERT_NE(table.find(2), nullptr);
    EXPECT_EQ(table.find(2)->mappings->find(5), nullptr);
    EXPECT_EQ(table.find(2)->code, nullptr);
    EXPECT_EQ(table.find(2)->thread_count, 1U);
    std::string names;
    table.each_thread([&](std::uint32_t tid, const Thread& thread) {
        names += tid == 2 || tid == 3 ? std::to_string(tid) + thread.name : "";
    });
    EXPECT_EQ(names, "2other");
    table.exit(2, 2, 100);
    table.prune(101);
    EXPECT_EQ(table.find(2), nullptr);
}

TEST(ProcessTable, IsBounded) {
    ProcessTable table;
    for (std::uint32_t pid = 1; pid <= ProcessTable::kProcessesMax + 10; ++pid) {
        table.name_thread(pid, pid, "x");
    }
    EXPECT_NE(table.find(ProcessTable::kProcessesMax), nullptr);
    EXPECT_EQ(table.find(ProcessTable::kProcessesMax + 1), nullptr);
}

// Of each second process the record of its end was lost, and threads that weren't the first ran other programs.
TEST(ProcessTable, EndsThatNoRecordReportsAreFound) {
    constexpr std::uint32_t kRounds = 4;
    constexpr std::uint32_t kPerRound = ProcessTable::kProcessesMax / 2;
    ProcessTable table;
    table.name_thread(1, 1, "shell");
    std::uint32_t first_running = 2;
    const auto is_gone = [&](std::uint32_t pid, std::uint32_t) { return pid != 1 && pid < first_running; };
    std::uint32_t pid = 2;
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
        for (std::uint32_t i = 0; i < kPerRound; ++i, pid += 2) {
            table.fork(pid, pid, 1, 1);
            table.add_mapping(pid, mapping(0, 10, 0, 1));
            if (i % 2 == 0) {
                table.exit(pid, pid, round);
            } else if (i % 4 == 1) {
                table.fork(pid, pid + 1, pid, pid);
                table.exit(pid, pid, round);
                table.exec(pid, pid, "other");
                table.exit(pid, pid, round);
            }
        }
        ASSERT_NE(table.find(pid - 2), nullptr) << "the newest has room";
        EXPECT_TRUE(table.end_missing(round, is_gone).empty()) << "all run";
        first_running = pid;
        EXPECT_TRUE(table.end_missing(round, is_gone).empty()) << "their records may be on the way";
        EXPECT_EQ(table.end_missing(round, is_gone).size(), kPerRound / 2);
        table.prune(round + 1);
        EXPECT_EQ(table.process_count(), 1U);
        EXPECT_EQ(table.thread_count(), 1U);
    }
}

}  // namespace
}  // namespace perfleet
