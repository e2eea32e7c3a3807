#include "query-engine/http/upload_quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace perfleet {
namespace {

constexpr UtcNs kNow{1'800'000'000 * kNsPerSecond};

UtcNs later(std::int64_t seconds) { return UtcNs{kNow.value + seconds * kNsPerSecond}; }

class UploadQuotaTest : public testing::Test {
protected:
    ~UploadQuotaTest() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] UploadQuota quota() {
        return UploadQuota{path_, [this](const LogEvent& event) { logged_.push_back(std::string{event.text()}); }};
    }

    std::filesystem::path folder_ = std::filesystem::path{testing::TempDir()} / "upload_quota_test";
    std::string path_ = (std::filesystem::create_directory(folder_), folder_ / "quotas");
    std::vector<std::string> logged_;
};

TEST_F(UploadQuotaTest, OutlivesItsObject) {
    {
        UploadQuota quota = this->quota();
        EXPECT_EQ(quota.left_ns("ci", 100, kNow), 0);
        quota.count("ci", 99, kNow);
        EXPECT_EQ(quota.left_ns("ci", 100, later(10)), 0);
        quota.count("ci", 50, later(10));
        EXPECT_EQ(quota.left_ns("ci", 100, later(600)), 3'000 * kNsPerSecond);
        EXPECT_EQ(quota.left_ns("edge", 100, later(600)), 0);
        quota.count("edge", 7, later(600));
        quota.count("without", 7, later(600));
    }
    UploadQuota again = quota();
    EXPECT_EQ(again.left_ns("ci", 100, later(900)), 2'700 * kNsPerSecond);
    EXPECT_EQ(again.left_ns("edge", 7, later(900)), 3'300 * kNsPerSecond);
    EXPECT_EQ(again.left_ns("without", 1, later(900)), 0) << "it had no quota";
    EXPECT_EQ(again.left_ns("ci", 100, later(3'600)), 0) << "another hour";
    again.count("ci", 1, later(3'600));
    EXPECT_EQ(quota().left_ns("ci", 1, later(3'700)), 3'500 * kNsPerSecond);
    EXPECT_TRUE(logged_.empty());
}

TEST_F(UploadQuotaTest, AClockThatWasSetBackExtendsNoWindow) {
    UploadQuota quota = this->quota();
    (void)quota.left_ns("ci", 100, kNow);
    quota.count("ci", 100, kNow);
    EXPECT_EQ(this->quota().left_ns("ci", 100, later(-86'400)), UploadQuota::kWindowNs);
}

TEST_F(UploadQuotaTest, DamagedLinesCountNothing) {
    std::ofstream{path_} << "\n \nci\nci 5\nci x 5\nci -5 5\nci 5 5 5\nci 99999999999999999999 5\nedge " << kNow.value
                         << " 9";
    UploadQuota quota = this->quota();
    EXPECT_EQ(quota.left_ns("ci", 1, kNow), 0);
    EXPECT_GT(quota.left_ns("edge", 9, kNow), 0);
}

TEST_F(UploadQuotaTest, AFileThatCannotBeWrittenIsLoggedOnce) {
    path_ = folder_ / "missing" / "quotas";
    UploadQuota quota = this->quota();
    EXPECT_EQ(quota.left_ns("ci", 100, kNow), 0);
    quota.count("ci", 60, kNow);
    quota.count("ci", 60, kNow);
    EXPECT_GT(quota.left_ns("ci", 100, kNow), 0) << "it is counted in memory";
    ASSERT_EQ(logged_.size(), 1U);
    EXPECT_NE(logged_.front().find(path_), std::string::npos) << logged_.front();
}

}  // namespace
}  // namespace perfleet
