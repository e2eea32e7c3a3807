#include "target-collector/spool/spool_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "target-collector/spool/testing/spool_fixture.h"

namespace perfleet::spool_file_test {
namespace {

using spool_test::TemporaryFolder;

constexpr std::uint64_t kPages = 8;
constexpr std::uint64_t kPage = kSpoolPageSizeBytes;

class SpoolFileTest : public testing::Test {
protected:
    std::unique_ptr<SpoolFile> make() {
        SpoolHead head;
        head.session = SessionId{1, 2};
        head.records_size_bytes = kPages * kPage;
        auto file = SpoolFile::create(folder_.path(), head, {});
        EXPECT_TRUE(file.ok()) << file.error().message;
        return std::move(*file);
    }

    TemporaryFolder folder_;
};

// Pages that hold a byte of a record stay; one letter a page: kept or given back.
TEST_F(SpoolFileTest, GivesBackThePagesInWhichNoRecordStands) {
    const auto pages_after = [&](const DeliverySpool::Places& places) {
        const auto file = make();
        std::fill(file->records().begin(), file->records().end(), std::byte{7});
        file->give_back_around(places);
        std::string pages;
        for (std::uint64_t page = 0; page < kPages; ++page) {
            const auto bytes = file->records().subspan(page * kPage, kPage);
            const auto kept = std::count(bytes.begin(), bytes.end(), std::byte{7});
            pages += kept == static_cast<std::ptrdiff_t>(kPage) ? 'k' : kept == 0 ? 'g' : '?';
        }
        EXPECT_TRUE(file->remove().ok());
        return pages;
    };
    DeliverySpool::Places places;
    EXPECT_EQ(pages_after(places), "gggggggg") << "nothing is kept";
    places = {2 * kPage, 5 * kPage, 0, 3 * kPage, false};
    EXPECT_EQ(pages_after(places), "ggkkkggg");
    places = {2 * kPage + 1, 5 * kPage + 1, 0, 3 * kPage, false};
    EXPECT_EQ(pages_after(places), "ggkkkkgg");
    places = {2 * kPage - 1, 5 * kPage - 1, 0, 3 * kPage, false};
    EXPECT_EQ(pages_after(places), "gkkkkggg");
    places = {5 * kPage, 2 * kPage, 7 * kPage, 4 * kPage, true};
    EXPECT_EQ(pages_after(places), "kkgggkkg");
    places = {5 * kPage, 2 * kPage, kPages * kPage, 5 * kPage, true};
    EXPECT_EQ(pages_after(places), "kkgggkkk");
}

TEST_F(SpoolFileTest, OneThatWasCutShortGetsItsLengthBack) {
    std::string path;
    std::uint64_t size_bytes = 0;
    {
        const auto file = make();
        path = file->path();
        size_bytes = file->head().file_size_bytes();
        file->records().back() = std::byte{7};
    }
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(size_bytes - kPage - 1)), 0);
    const auto file = SpoolFile::open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(std::filesystem::file_size(path), size_bytes);
    EXPECT_EQ((*file)->records().size(), kPages * kPage);
    EXPECT_EQ((*file)->records().back(), std::byte{0});
    (*file)->records().back() = std::byte{9};
    EXPECT_TRUE((*file)->sync().ok());
    const auto again = SpoolFile::open(path);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ((*again)->records().back(), std::byte{9});
}

TEST_F(SpoolFileTest, AnEmptyFileIsNone) {
    const std::string path = folder_.path() + "/" + spool_file_name(SessionId{1, 2});
    std::fclose(std::fopen(path.c_str(), "w"));
    const auto file = SpoolFile::open(path);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code, ErrorCode::kTruncated);
    EXPECT_NE(file.error().message.find(path), std::string::npos) << file.error().message;
}

}  // namespace
}  // namespace perfleet::spool_file_test
