// The priority of the thread that reads symbols. What it reads: tests/end_to_end/recorded_symbols_test.cpp.
#include "target-collector/linux/symbols/symbol_keeper.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

namespace perfleet::symbol_keeper_test {
namespace {

// Of all threads of this process, ascending.
std::vector<int> priorities() {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        found.push_back(::getpriority(PRIO_PROCESS, static_cast<id_t>(std::stoul(entry.path().filename()))));
    }
    std::ranges::sort(found);
    return found;
}

bool becomes(const auto& is_true) {
    for (int i = 0; i < 10'000 && !is_true(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return is_true();
}

TEST(SymbolKeeper, ReadsAtALowerPriorityUntilTheSessionEnds) {
    const int own = ::getpriority(PRIO_PROCESS, 0);
    if (::setpriority(PRIO_PROCESS, 0, own + 1) != 0 || ::setpriority(PRIO_PROCESS, 0, own) != 0) {
        GTEST_SKIP() << "priorities can't be raised here";
    }
    SymbolKeeper keeper;
    keeper.start();
    EXPECT_TRUE(becomes([&] { return priorities().back() > own; }));
    keeper.raise_priority();
    EXPECT_TRUE(becomes([&] { return priorities().back() == own; }));
    keeper.finish();
}

// A gateway that knows none of them has each read, and their bytes stay until the next are offered.
TEST(SymbolKeeper, OffersFewFilesAtOnce) {
    constexpr std::size_t kFiles = SymbolKeeper::kFilesOfferedMax * 2 + 1;
    SymbolKeeper keeper;
    for (std::size_t i = 0; i < kFiles; ++i) {
        ImageContentId id;
        id.size_bytes = 1;
        id.bytes[0] = static_cast<std::byte>(i);
        keeper.add_kernel(id, "module");
    }
    std::vector<std::size_t> offered;
    while (const std::size_t count = keeper.next().size()) {
        offered.push_back(count);
    }
    EXPECT_EQ(offered, (std::vector<std::size_t>{kFiles / 2, kFiles / 2, 1}));
}

}  // namespace
}  // namespace perfleet::symbol_keeper_test
