#include "target-collector/spool/spool_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "schemas/columns/crc32c.h"
#include "schemas/wire/delivery_limits.h"
#include "target-collector/spool/orphan_session.h"
#include "target-collector/spool/testing/spool_fixture.h"

namespace perfleet::spool_folder_test {
namespace {

using spool_test::hello_of;
using spool_test::open_folder;
using spool_test::SpoolingCollector;
using spool_test::TemporaryFolder;

constexpr std::size_t kSizeBytes = 64U << 10;
constexpr Series kSamples{Kind::kSample, EventNumber{0}};

class Silence final : public NetworkDriver {
public:
    bool send(std::span<const std::byte> /*frame*/) override { return false; }
    Checked<std::size_t> receive(std::span<std::byte> /*into*/) override { return std::size_t{0}; }
    bool reconnected() override { return false; }
};

// A session that seals so many batches of ten rows, with nobody to take them, and ends as a kill ends it.
void leave_session(const std::string& folder_path, std::uint64_t number, int batch_count,
                   std::size_t size_bytes = kSizeBytes) {
    Silence silence;
    const auto folder = open_folder(folder_path, size_bytes);
    SpoolingCollector collector(*folder, SessionId{number, ~number}, silence);
    collector.sealer->begin_epoch(Ticks{1}, UtcNs{1});
    for (int batch = 0; batch < batch_count; ++batch) {
        for (std::uint64_t i = 1; i <= 10; ++i) {
            const std::uint64_t row[] = {0, 1, 1, 1, 1};
            collector.sealer->append({kSamples, Ticks{i}, row});
        }
        collector.sealer->flush(Ticks{10});
        collector.delivery->step(1);
    }
}

std::string name_of(std::uint64_t number) { return spool_file_name(SessionId{number, ~number}); }

TEST(SpoolFolder, IsUsedByOneCollectorAtATime) {
    const TemporaryFolder place;
    auto first = open_folder(place / "spool", kSizeBytes);
    auto second = SpoolFolder::open(place / "spool", kSizeBytes, [](std::string_view) {});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kBusy);
    EXPECT_NE(second.error().message.find(place / "spool"), std::string::npos) << second.error().message;
    EXPECT_NE(second.error().message.find("process " + std::to_string(::getpid())), std::string::npos);
    first.reset();
    EXPECT_NE(open_folder(place / "spool", kSizeBytes), nullptr);
}

TEST(SpoolFolder, IsMadeForItsOwnerAlone) {
    const TemporaryFolder place;
    leave_session(place / "spool", 1, 1);
    struct stat status {};
    ASSERT_EQ(::stat((place / "spool").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
    ASSERT_EQ(::stat((place / ("spool/" + name_of(1))).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(SpoolFolder, InWhichOthersMayWriteIsRefused) {
    const TemporaryFolder place;
    const auto message_of = [](const std::string& path) {
        const auto folder = SpoolFolder::open(path, kSizeBytes, [](std::string_view) {});
        EXPECT_TRUE(folder.ok() || folder.error().code == ErrorCode::kPermission);
        return folder.ok() ? std::string{} : folder.error().message;
    };
    const std::string spool = place / "spool";
    EXPECT_EQ(message_of(spool), "");
    for (const mode_t mode : {0720U, 0702U, 01777U}) {
        ASSERT_EQ(::chmod(spool.c_str(), mode), 0);
        EXPECT_NE(message_of(spool).find("chmod go-w '" + spool + "'"), std::string::npos) << message_of(spool);
    }
    ASSERT_EQ(::chmod(spool.c_str(), 0700), 0);
    ASSERT_EQ(::chmod(place.path().c_str(), 0777), 0);
    EXPECT_NE(message_of(spool).find("others may write to '" + place.path() + "'"), std::string::npos);
    ASSERT_EQ(::chmod(place.path().c_str(), 01777), 0);
    EXPECT_EQ(message_of(spool), "") << "as /tmp: nobody else can put another folder in its place";
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(spool.c_str(), 65'534, 65'534), 0);
        EXPECT_NE(message_of(spool).find("belongs to user 65534"), std::string::npos);
    }
}

TEST(SpoolFolder, NamesAPlaceThatCannotBe) {
    const TemporaryFolder place;
    const auto none = SpoolFolder::open(place / "missing/spool", kSizeBytes, [](std::string_view) {});
    ASSERT_FALSE(none.ok());
    EXPECT_NE(none.error().message.find("missing/spool"), std::string::npos);
    std::ofstream(place / "file") << "x";
    const auto file = SpoolFolder::open(place / "file", kSizeBytes, [](std::string_view) {});
    ASSERT_FALSE(file.ok());
    EXPECT_NE(file.error().message.find(place / "file"), std::string::npos);
}

TEST(SpoolFolder, GivesSessionsInTheOrderInWhichTheyBegan) {
    const TemporaryFolder place;
    for (const std::uint64_t number : {7U, 3U, 5U}) {
        leave_session(place.path(), number, 1);
    }
    const auto folder = open_folder(place.path(), kSizeBytes);
    EXPECT_EQ(folder->orphans(),
              (std::vector<std::string>{place / name_of(7), place / name_of(3), place / name_of(5)}));
}

TEST(SpoolFolder, LeavesForeignFilesAloneAndNamesThem) {
    const TemporaryFolder place;
    leave_session(place.path(), 1, 1);
    std::ofstream(place / "notes.txt") << "mine";
    std::ofstream(place / "foreign.spool")
        << "no spool file, but of that name, and long enough to have a head of its own";
    std::ofstream(place / "empty.spool") << "";
    std::ofstream(place / "half.spool.new") << "never finished";
    ::mkdir((place / "folder.spool").c_str(), 0700);
    std::vector<std::string> logged;
    const auto folder = open_folder(place.path(), kSizeBytes, &logged);
    EXPECT_EQ(folder->orphans(), std::vector<std::string>{place / name_of(1)});
    ASSERT_EQ(logged.size(), 3U);
    EXPECT_NE(logged[0].find("empty.spool"), std::string::npos) << logged[0];
    EXPECT_NE(logged[1].find("folder.spool"), std::string::npos) << logged[1];
    EXPECT_NE(logged[2].find("foreign.spool' is no spool file"), std::string::npos) << logged[2];
    EXPECT_TRUE(std::filesystem::exists(place / "foreign.spool"));
    EXPECT_TRUE(std::filesystem::exists(place / "notes.txt"));
    EXPECT_FALSE(std::filesystem::exists(place / "half.spool.new"));
}

TEST(SpoolFolder, RefusesANewerVersionByName) {
    const TemporaryFolder place;
    leave_session(place.path(), 1, 1);
    {
        std::fstream file(place / name_of(1), std::ios::in | std::ios::out | std::ios::binary);
        std::array<char, kSpoolHeadSizeBytes> head{};
        file.read(head.data(), head.size());
        head[8] = 2;
        const auto bytes = std::as_bytes(std::span{head});
        const std::uint32_t checksum = crc32c(crc32c(0, bytes.first(12)), bytes.subspan(16));
        std::memcpy(head.data() + 12, &checksum, sizeof checksum);
        file.seekp(0);
        file.write(head.data(), head.size());
    }
    const auto folder = SpoolFolder::open(place.path(), kSizeBytes, [](std::string_view) {});
    ASSERT_FALSE(folder.ok());
    EXPECT_EQ(folder.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(folder.error().message.find(name_of(1)), std::string::npos);
    EXPECT_NE(folder.error().message.find("version 2"), std::string::npos) << folder.error().message;
}

TEST(SpoolFolder, AFileWithoutAWholeHelloIsNamedAndStays) {
    const TemporaryFolder place;
    leave_session(place.path(), 1, 3);
    {
        std::fstream file(place / name_of(1), std::ios::in | std::ios::out | std::ios::binary);
        for (const std::size_t hello : {kSpoolHelloOffset, kSpoolHelloOffset + kSpoolPageSizeBytes}) {
            file.seekp(static_cast<std::streamoff>(hello + 12));
            file << "torn";
        }
    }
    std::vector<std::string> logged;
    const auto folder = open_folder(place.path(), kSizeBytes, &logged);
    EXPECT_TRUE(folder->orphans().empty());
    EXPECT_EQ(folder->damaged_count(), 1U);
    ASSERT_EQ(logged.size(), 1U);
    EXPECT_NE(logged[0].find(name_of(1)), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(place / name_of(1)));
}

TEST(SpoolFolder, KeepsHalfItsSizeForANewSession) {
    const TemporaryFolder place;
    for (std::uint64_t number = 1; number <= 4; ++number) {
        leave_session(place.path(), number, 200);
    }
    std::vector<std::string> logged;
    const auto folder = open_folder(place.path(), kSizeBytes, &logged);
    Silence silence;
    std::uint64_t used_bytes = 0;
    for (const std::string& path : folder->orphans()) {
        auto left = OrphanSession::open(path, silence);
        ASSERT_TRUE(left.ok());
        used_bytes += (*left)->delivery().status().spool_used_bytes;
        // Whatever went is counted: nothing of it as killed.
        const SpoolReading& reading = (*left)->reading();
        EXPECT_EQ(reading.final_counts.get(kSamples, CountName::kProduced), 2'000U);
        EXPECT_EQ(reading.rows_killed, 0U);
        EXPECT_EQ(reading.final_counts.get({Kind::kTask, kNoEvent}, CountName::kUncleanEnd), 1U)
            << "whoever made room in it since hasn't ended it";
        EXPECT_EQ(reading.entry.lost.get(kSamples, CountName::kLostSpoolFull) + 10 * reading.batch_count, 2'000U);
    }
    EXPECT_LE(used_bytes, kSizeBytes / 2);
    EXPECT_GT(used_bytes, kSizeBytes / 4);
    EXPECT_FALSE(logged.empty());
    // The first ones had been emptied already by those who came after them.
    for (const std::string& log : logged) {
        EXPECT_EQ(log.find(": 0 batches"), std::string::npos) << log;
    }
    const auto file = folder->create(SessionId{9, 9}, hello_of({9, 9}));
    ASSERT_TRUE(file.ok());
    EXPECT_GE((*file)->records().size(), kSizeBytes / 2);
    EXPECT_LE((*file)->records().size() + used_bytes, kSizeBytes);
}

TEST(SpoolFolder, GivesUpTheOldestOfTooManySessions) {
    const TemporaryFolder place;
    for (std::uint64_t number = 1; number <= limits::kSpoolSessionsMax + 2; ++number) {
        leave_session(place.path(), number, 0);
    }
    std::vector<std::string> logged;
    const auto folder = open_folder(place.path(), kSizeBytes, &logged);
    EXPECT_EQ(folder->orphans().size(), limits::kSpoolSessionsMax);
    ASSERT_FALSE(logged.empty());
    EXPECT_NE(logged[0].find(name_of(2)), std::string::npos) << logged[0];
    EXPECT_FALSE(std::filesystem::exists(place / name_of(2)));
    EXPECT_TRUE(std::filesystem::exists(place / name_of(3)));
}

TEST(SpoolFolder, SaysHowMuchRoomThereIsNot) {
    const TemporaryFolder place;
    const auto folder = open_folder(place.path(), std::size_t{1} << 50U);
    const auto file = folder->create(SessionId{1, 1}, hello_of({1, 1}));
    ASSERT_FALSE(file.ok());
    EXPECT_NE(file.error().message.find("--spool-size"), std::string::npos) << file.error().message;
    EXPECT_FALSE(std::filesystem::exists(place / (spool_file_name({1, 1}) + ".new")));
}

}  // namespace
}  // namespace perfleet::spool_folder_test
