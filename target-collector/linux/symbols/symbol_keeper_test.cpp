// The priority of the thread that reads symbols. What it reads: tests/end_to_end/recorded_symbols_test.cpp.
#include "target-collector/linux/symbols/symbol_keeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "target-collector/process/elf_note.h"

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

// Offers one file, asks for it, and waits until it is read.
std::string symbols_of(const std::string& path, std::shared_ptr<FileCache> cache) {
    struct stat status {};
    const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(::fstat(file.get(), &status), 0);
    MappedFile mapped;
    mapped.path = path;
    mapped.device_major = ::major(status.st_dev);
    mapped.device_minor = ::minor(status.st_dev);
    mapped.inode = status.st_ino;
    SymbolKeeper keeper;
    keeper.keep_in(std::move(cache));
    std::atomic<int> woken_count{0};
    keeper.start([&] { ++woken_count; });
    keeper.note(mapped, build_id_of_file(file.get()));
    EXPECT_EQ(keeper.next().size(), 1U);
    EXPECT_TRUE(becomes([&] { return keeper.content(0).is_read; }));
    EXPECT_TRUE(becomes([&] { return woken_count == 1; })) << "the delivery is told of it";
    const auto bytes = keeper.content(0).bytes;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(SymbolKeeper, ReadsAFileOnceForAllSessions) {
    const std::string folder = testing::TempDir() + "symbol_keeper_" + std::to_string(::getpid());
    const std::string read = symbols_of("/proc/self/exe", *FileCache::open(folder));
    EXPECT_FALSE(read.empty());
    const auto cache = FileCache::open(folder).value();
    EXPECT_GT(cache->size_bytes(), read.size());
    EXPECT_EQ(symbols_of("/proc/self/exe", cache), read);
    EXPECT_EQ(cache->hit_count(), 1U);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace perfleet::symbol_keeper_test
