#include "target-collector/process/perf_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace perfleet {
namespace {

std::string name_at(const PerfMap& map, std::uint64_t address) {
    const auto function = map.find(address);
    return function ? std::string{function->name} : "none";
}

TEST(PerfMap, NamesWhatHoldsAnAddress) {
    PerfMap map;
    map.add("7f0000001000 40 LazyCompile:*spin /srv/app.js:10:3\n0x7f0000001040 0x10 py::main:/srv/a b.py\r\n");
    EXPECT_EQ(name_at(map, 0x7f0000000fff), "none");
    EXPECT_EQ(name_at(map, 0x7f0000001000), "LazyCompile:*spin /srv/app.js:10:3");
    EXPECT_EQ(name_at(map, 0x7f000000103f), "LazyCompile:*spin /srv/app.js:10:3");
    EXPECT_EQ(name_at(map, 0x7f0000001040), "py::main:/srv/a b.py");
    EXPECT_EQ(name_at(map, 0x7f0000001050), "none");
    EXPECT_EQ(map.find(0x7f0000001041)->start, 0x7f0000001040U);
    EXPECT_EQ(map.find(0x7f0000001041)->size_bytes, 0x10U);
}

TEST(PerfMap, SkipsWhatIsNoFunction) {
    PerfMap map;
    map.add(
        "\n\nhello\n1000\n1000 10\n1000 10 \n1000 0 empty\nffffffffffffffff 2 around\n2000 zz name\n -1 10 x\n3000 10 "
        "good");
    EXPECT_EQ(map.function_count(), 1U);
    EXPECT_EQ(name_at(map, 0x3000), "good");
}

TEST(PerfMap, ALaterFunctionTakesThePlaceOfAllThatItOverlaps) {
    PerfMap map;
    map.add("1000 100 first\n1100 100 second\n1200 100 third\n");
    map.add("10ff 102 new\n");
    EXPECT_EQ(map.function_count(), 1U);
    EXPECT_EQ(name_at(map, 0x1000), "none");
    EXPECT_EQ(name_at(map, 0x10ff), "new");
    EXPECT_EQ(name_at(map, 0x1200), "new");
    EXPECT_EQ(name_at(map, 0x1201), "none");
    map.add("10ff 102 again\n");
    EXPECT_EQ(name_at(map, 0x10ff), "again");
}

TEST(PerfMap, IsWhatALineForEachAddressWouldSay) {
    std::mt19937 random{7};
    for (int round = 0; round < 200; ++round) {
        PerfMap map;
        std::map<std::uint64_t, int> function_at;
        std::map<int, std::pair<std::uint64_t, std::uint64_t>> alive;
        for (int function = 0; function < 40; ++function) {
            const std::uint64_t start = random() % 200;
            const std::uint64_t end = start + 1 + random() % 30;
            std::erase_if(alive,
                          [&](const auto& other) { return other.second.first < end && start < other.second.second; });
            alive[function] = {start, end};
            char line[64];
            std::snprintf(line, sizeof line, "%llx %llx f%d\n", static_cast<unsigned long long>(start),
                          static_cast<unsigned long long>(end - start), function);
            map.add(line);
        }
        for (std::uint64_t address = 0; address < 240; ++address) {
            std::string expected = "none";
            for (const auto& [function, range] : alive) {
                if (range.first <= address && address < range.second) {
                    expected = "f" + std::to_string(function);
                }
            }
            ASSERT_EQ(name_at(map, address), expected) << round << " " << address;
        }
    }
}

TEST(PerfMap, IsBounded) {
    PerfMap map;
    map.add("1000 10 " + std::string(5'000, 'n') + "\n");
    EXPECT_EQ(map.find(0x1000)->name.size(), PerfMap::kNameSizeBytesMax);
    std::string text;
    for (std::size_t i = 0; i < PerfMap::kFunctionsMax + 10; ++i) {
        text += std::to_string(100'000'000 + i) + " 1 f\n";
    }
    map.add(text);
    EXPECT_EQ(map.function_count(), PerfMap::kFunctionsMax);
    const std::string long_name(PerfMap::kNameSizeBytesMax, 'n');
    map.clear();
    text.clear();
    for (std::size_t i = 0; i < PerfMap::kNamesSizeBytesMax / PerfMap::kNameSizeBytesMax + 10; ++i) {
        text += std::to_string(100'000'000 + i) + " 1 " + long_name + "\n";
    }
    map.add(text);
    EXPECT_EQ(map.function_count(), PerfMap::kNamesSizeBytesMax / PerfMap::kNameSizeBytesMax);
}

}  // namespace
}  // namespace perfleet
