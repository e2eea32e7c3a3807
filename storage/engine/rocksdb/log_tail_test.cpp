// Write-ahead logs that the tests write themselves, as RocksDB does.
#include "storage/engine/rocksdb/log_tail.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>

#include "schemas/columns/crc32c.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/log_format.h"

namespace perfleet::log_tail_test {
namespace {

namespace fs = std::filesystem;

enum class Fragment : std::uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

template <class Integer>
void append(std::string& bytes, Integer value) {
    for (std::size_t i = 0; i < sizeof value; ++i) {
        bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
    }
}

std::string record(Fragment type, const std::string& payload) {
    const std::string checked = static_cast<char>(type) + payload;
    const std::uint32_t crc = crc32c(0, std::as_bytes(std::span{checked}));
    std::string bytes;
    append(bytes, static_cast<std::uint32_t>((crc >> 15 | crc << 17) + 0xa282ead8U));
    append(bytes, static_cast<std::uint16_t>(payload.size()));
    return bytes + checked;
}

struct Mark {
    std::uint64_t synced;
    std::uint64_t logged;
};

// A group of one change, whose value has these many bytes.
std::string group(std::uint64_t sequence, std::optional<Mark> mark, std::size_t size_bytes = 100) {
    std::string bytes;
    append(bytes, sequence);
    append(bytes, std::uint32_t{1});
    if (mark) {
        const std::string text = sync_mark({mark->synced, mark->logged});
        bytes += '\3';
        bytes += static_cast<char>(text.size());
        bytes += text;
    }
    return bytes + std::string(size_bytes, 'v');
}

std::string full(std::uint64_t sequence, std::optional<Mark> mark, std::size_t size_bytes = 100) {
    return record(Fragment::kFull, group(sequence, mark, size_bytes));
}

std::string damaged(std::string bytes) {
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    return bytes;
}

class LogTail : public testing::Test {
protected:
    void write(int number, const std::string& log) { std::ofstream(path(number), std::ios::binary) << log; }
    [[nodiscard]] fs::path path(int number) const {
        return fs::path{folder_->path()} / ("00000" + std::to_string(number) + ".log");
    }
    // "sound", or the first damage: file:offset, and whether it was promised.
    std::string damage() {
        const auto found = find_log_damage(folder_->path());
        EXPECT_TRUE(found.ok());
        if (!found.ok() || !found->has_value()) {
            return "sound";
        }
        return (*found)->file + ":" + std::to_string((*found)->offset_bytes) +
               ((*found)->was_synced ? " promised" : " not promised");
    }

    std::unique_ptr<TemporaryFolder> folder_ = std::move(*TemporaryFolder::make("perfleet-test-"));
    const std::string first_ = full(1, Mark{0, 0});
    const std::string second_ = full(2, Mark{0, 1});
    const std::string at_second_ = std::to_string(first_.size());
};

TEST_F(LogTail, OfSoundLogsIsSound) {
    EXPECT_EQ(damage(), "sound");
    write(1, first_ + second_);
    EXPECT_EQ(damage(), "sound");
    write(2, full(3, Mark{2, 2}));
    EXPECT_EQ(damage(), "sound");
    write(3, full(9, Mark{2, 3}));  // what has the numbers between went to no log
    EXPECT_EQ(damage(), "sound");
}

TEST_F(LogTail, ThatIsCutShortWasPromisedToNobody) {
    for (std::size_t size = 1; size < second_.size(); ++size) {
        write(1, first_ + second_.substr(0, size));
        EXPECT_EQ(damage(), size < 7 ? "sound" : "000001.log:" + at_second_ + " not promised") << size;
    }
}

TEST_F(LogTail, WasPromisedIfALaterMarkSaysSo) {
    write(1, first_ + damaged(second_) + full(3, Mark{1, 2}));
    EXPECT_EQ(damage(), "000001.log:" + at_second_ + " not promised");
    write(1, first_ + damaged(second_) + full(3, Mark{1, 2}) + full(4, Mark{2, 3}));
    EXPECT_EQ(damage(), "000001.log:" + at_second_ + " promised");
    write(1, first_ + damaged(second_) + full(3, Mark{1, 2}));
    write(2, full(4, Mark{2, 3}));
    EXPECT_EQ(damage(), "000001.log:" + at_second_ + " promised");
}

// Nothing shows that it wasn't.
TEST_F(LogTail, WithoutMarksWasPromisedIfSomethingStandsBehindIt) {
    const std::string second = full(2, std::nullopt);
    write(1, full(1, std::nullopt) + damaged(second));
    const std::string at = std::to_string(full(1, std::nullopt).size());
    EXPECT_EQ(damage(), "000001.log:" + at + " not promised");
    write(1, full(1, std::nullopt) + damaged(second) + full(3, std::nullopt));
    EXPECT_EQ(damage(), "000001.log:" + at + " promised");
}

// Earlier batches are in table files.
TEST_F(LogTail, ThatBeginsTheLogsWasPromisedIfItsLastChangeWas) {
    const std::string lost = damaged(full(8, Mark{7, 7}));
    write(1, lost + full(9, Mark{7, 8}));
    EXPECT_EQ(damage(), "000001.log:0 not promised");
    write(1, lost + full(9, Mark{8, 8}));
    EXPECT_EQ(damage(), "000001.log:0 promised");
    const std::string mark_alone = damaged(full(8, Mark{8, 8}, 0));
    write(1, mark_alone + full(9, Mark{8, 8}));
    EXPECT_EQ(damage(), "000001.log:0 not promised") << "a mark is no change";
}

TEST_F(LogTail, OfWhichTheNextLogKnowsMoreIsCutShortThere) {
    write(1, first_);
    write(2, full(3, Mark{0, 2}));
    const std::string at_end = "000001.log:" + at_second_;
    EXPECT_EQ(damage(), at_end + " not promised");
    write(2, full(3, Mark{0, 2}) + full(4, Mark{2, 3}));
    EXPECT_EQ(damage(), at_end + " promised");
}

// It knew of the damage, and continued from the data before it.
TEST_F(LogTail, IsOverOnceAWriterWentOnAfterIt) {
    write(1, first_ + damaged(second_));
    write(2, full(2, Mark{1, 1}));
    EXPECT_EQ(damage(), "sound");
    write(3, damaged(full(3, Mark{2, 2})));
    EXPECT_EQ(damage(), "000003.log:0 not promised");
}

TEST_F(LogTail, HoldsGroupsThatAreLargerThanABlock) {
    constexpr std::size_t kBlock = 32'768;
    const std::string large = group(2, Mark{0, 1}, 2 * kBlock);
    const std::size_t room = kBlock - first_.size() - 7;
    const std::string begin = record(Fragment::kFirst, large.substr(0, room));
    const std::string middle = record(Fragment::kMiddle, large.substr(room, kBlock - 7));
    const std::string end = record(Fragment::kLast, large.substr(room + kBlock - 7));
    const std::string third = full(3, Mark{2, 2});
    const std::string at_large = "000001.log:" + at_second_;
    write(1, first_ + begin + middle + end + third);
    EXPECT_EQ(damage(), "sound");
    write(1, first_ + begin + middle);
    EXPECT_EQ(damage(), at_large + " not promised");
    write(1, first_ + begin + damaged(middle) + end + third);
    EXPECT_EQ(damage(), at_large + " promised");
    write(1, first_ + begin + middle + third);
    EXPECT_EQ(damage(), at_large + " promised");
    write(1, first_ + damaged(begin) + middle + end + third);
    EXPECT_EQ(damage(), at_large + " promised");
}

TEST_F(LogTail, ThatIsAFolderIsPassedOver) {
    write(1, first_);
    fs::create_directory(path(2));
    EXPECT_EQ(damage(), "sound");
    const auto skips = cut_log_tail(folder_->path());
    ASSERT_TRUE(skips.ok()) << skips.error().message;
    EXPECT_FALSE(*skips);
}

TEST_F(LogTail, OfSoundLogsIsNotCutOff) {
    write(1, first_ + second_);
    const auto skips = cut_log_tail(folder_->path());
    ASSERT_TRUE(skips.ok());
    EXPECT_FALSE(*skips);
    EXPECT_EQ(fs::file_size(path(1)), first_.size() + second_.size());
}

TEST_F(LogTail, IsCutOffWhereNobodyWasPromisedIt) {
    write(1, first_ + damaged(second_));
    write(2, damaged(full(3, Mark{0, 2})));
    const auto skips = cut_log_tail(folder_->path());
    ASSERT_TRUE(skips.ok());
    EXPECT_FALSE(*skips);
    EXPECT_EQ(fs::file_size(path(1)), first_.size());
    EXPECT_EQ(fs::file_size(path(2)), 0U);
}

TEST_F(LogTail, ThatWasPromisedIsKeptAndRecorded) {
    const std::string log = first_ + damaged(second_) + full(3, Mark{2, 2});
    write(1, log);
    const auto skips = cut_log_tail(folder_->path());
    ASSERT_TRUE(skips.ok());
    EXPECT_TRUE(*skips);
    EXPECT_EQ(fs::file_size(path(1)), log.size());
    EXPECT_EQ(fs::file_size(path(1).string() + ".damaged"), log.size());
}

}  // namespace
}  // namespace perfleet::log_tail_test
