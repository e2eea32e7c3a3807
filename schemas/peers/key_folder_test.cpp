#include "schemas/peers/key_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace perfleet {
namespace {

PublicKey key_of(std::uint64_t number) {
    PublicKey key;
    for (std::size_t i = 0; i < 8; ++i) {
        key.bytes.at(i) = static_cast<unsigned char>(number >> (8 * i));
    }
    return key;
}

class AllowList : public testing::Test {
protected:
    AllowList() {
        std::string pattern = (std::filesystem::temp_directory_path() / "perfleet-allow-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~AllowList() override { std::filesystem::remove_all(path_); }

    void enrol(const std::string& name, std::uint64_t key, const std::string& file = "") const {
        write((file.empty() ? name + ".pub" : file), format_enrolment({name, target_id_of(name), key_of(key), {}}));
    }
    void write(const std::string& file, const std::string& text) const { std::ofstream{path_ / file} << text; }

    void open() {
        auto folder = KeyFolder::open("--collectors", path_.string(),
                                      [this](std::string_view text) { logged_.emplace_back(text); });
        ASSERT_TRUE(folder.ok()) << folder.error().message;
        folder_ = std::move(*folder);
    }
    // As a gateway asks, second by second.
    bool refresh() { return folder_->refresh(now_ns_ += KeyFolder::kLookEveryNs); }
    [[nodiscard]] std::string name_of(std::uint64_t key) const {
        const KeySet::Entry entry = folder_->set()->find(key_of(key));
        return entry == nullptr ? "" : entry->name;
    }

    std::filesystem::path path_;
    std::unique_ptr<KeyFolder> folder_;
    std::vector<std::string> logged_;
    std::uint64_t now_ns_ = 0;
};

TEST_F(AllowList, FindsByKey) {
    enrol("a", 1);
    enrol("b", 2);
    open();
    EXPECT_EQ(name_of(1), "a");
    EXPECT_EQ(name_of(2), "b");
    EXPECT_EQ(name_of(3), "");
    EXPECT_TRUE(logged_.empty());
}

TEST_F(AllowList, SeesFilesComeChangeAndGo) {
    open();
    EXPECT_EQ(folder_->set()->size(), 0U);
    enrol("a", 1);
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(1), "a");
    enrol("a", 2);  // in its place, with the same size
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(1), "");
    EXPECT_EQ(name_of(2), "a");
    std::filesystem::rename(path_ / "a.pub", path_ / "a.pub.off");
    EXPECT_TRUE(refresh());
    EXPECT_EQ(folder_->set()->size(), 0U);
    std::filesystem::remove(path_ / "a.pub.off");
    refresh();
    EXPECT_EQ(folder_->bad_file_count(), 0U);
}

TEST_F(AllowList, SeesItselfReplaced) {
    enrol("a", 1);
    open();
    const std::filesystem::path old = path_.string() + ".old";
    std::filesystem::rename(path_, old);
    std::filesystem::create_directory(path_);
    enrol("b", 2);
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(1), "");
    EXPECT_EQ(name_of(2), "b");
    enrol("c", 3);
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(3), "c");
    std::filesystem::remove_all(old);
}

TEST_F(AllowList, SeesItselfMadeAnew) {
    enrol("a", 1);
    open();
    for (std::uint64_t key = 2; key < 5; ++key) {
        std::filesystem::remove_all(path_);  // the new one may well get the number of the old one
        std::filesystem::create_directory(path_);
        EXPECT_TRUE(refresh());
        EXPECT_EQ(folder_->set()->size(), 0U);
        enrol("b", key);
        EXPECT_TRUE(refresh());
        EXPECT_EQ(name_of(key), "b");
    }
}

TEST_F(AllowList, RevokesAllWhileItIsGone) {
    enrol("a", 1);
    open();
    const std::filesystem::path away = path_.string() + ".away";
    std::filesystem::rename(path_, away);
    EXPECT_TRUE(refresh());
    EXPECT_FALSE(refresh());
    EXPECT_EQ(name_of(1), "");
    ASSERT_EQ(logged_.size(), 1U);
    EXPECT_NE(logged_[0].find(path_.string()), std::string::npos);
    EXPECT_NE(logged_[0].find("revoked"), std::string::npos);
    std::filesystem::rename(away, path_);
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(1), "a");
}

TEST_F(AllowList, GoesOnWhileItCantBeRead) {
    enrol("a", 1);
    open();
    const std::filesystem::path away = path_.string() + ".away";
    std::filesystem::rename(path_, away);
    std::ofstream{path_} << "no folder";
    EXPECT_FALSE(refresh());
    EXPECT_FALSE(refresh());
    EXPECT_EQ(name_of(1), "a");
    ASSERT_EQ(logged_.size(), 1U);
    EXPECT_NE(logged_[0].find("still applies"), std::string::npos);
    std::filesystem::remove(path_);
    std::filesystem::rename(away, path_);
    refresh();
    std::filesystem::remove(path_ / "a.pub");
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(1), "");
}

TEST_F(AllowList, ReportsBadFilesByPlaceAndLeavesThemOut) {
    enrol("good", 1);
    write("bad.pub", "name = bad\nkey = x\n");
    write("notes.txt", "hello");
    write(".hidden", "x");
    write("good.pub~", "x");
    open();
    EXPECT_EQ(name_of(1), "good");
    EXPECT_EQ(folder_->set()->size(), 1U);
    EXPECT_EQ(folder_->bad_file_count(), 2U);
    ASSERT_EQ(logged_.size(), 2U);
    const std::string all = logged_[0] + logged_[1];
    EXPECT_NE(all.find((path_ / "bad.pub").string() + ":2: "), std::string::npos) << all;
    EXPECT_NE(all.find("notes.txt"), std::string::npos) << all;
    for (int i = 0; i < 40; ++i) {
        refresh();
    }
    EXPECT_EQ(logged_.size(), 2U);  // said once
    enrol("bad", 2);
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(2), "bad");
}

TEST_F(AllowList, AKeyThatBecomesBadIsOut) {
    enrol("a", 1);
    open();
    write("a.pub", "name = a\n");
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(1), "");
}

TEST_F(AllowList, WhatALinkNamesIsFollowedSecondBySecond) {
    const std::filesystem::path elsewhere = path_.string() + "-elsewhere";
    const auto enrol_elsewhere = [&](std::uint64_t key) {
        std::ofstream{elsewhere} << format_enrolment({"a", target_id_of("a"), key_of(key), {}});
    };
    enrol_elsewhere(1);
    std::filesystem::create_symlink(elsewhere, path_ / "a.pub");
    open();
    ::usleep(100'000);  // past the time in which a file counts as fresh
    refresh();
    EXPECT_EQ(name_of(1), "a");
    std::filesystem::remove(elsewhere);
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(1), "");
    enrol_elsewhere(2);
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(2), "a");
    ::usleep(100'000);
    refresh();
    enrol_elsewhere(3);
    EXPECT_TRUE(refresh());
    EXPECT_EQ(name_of(2), "");
    EXPECT_EQ(name_of(3), "a");
    std::filesystem::remove(elsewhere);
}

TEST_F(AllowList, OneKeyInTwoFilesCountsOnceAndTwoKeysMayHaveOneName) {
    enrol("a", 1, "1.pub");
    enrol("b", 1, "2.pub");
    enrol("a", 2, "3.pub");
    open();
    EXPECT_EQ(name_of(1), "a");
    EXPECT_EQ(name_of(2), "a");
    ASSERT_EQ(logged_.size(), 1U);
    EXPECT_NE(logged_[0].find("2.pub"), std::string::npos);
}

TEST_F(AllowList, ManyBadFilesAreCounted) {
    for (int i = 0; i < 100; ++i) {
        write(std::to_string(i) + ".pub", "x");
    }
    open();
    EXPECT_EQ(logged_.size(), KeyFolder::kReportsMax + 1);
    EXPECT_NE(logged_.back().find("100"), std::string::npos);
}

TEST_F(AllowList, IsRefusedWhereEverybodyCanWrite) {
    const auto refused = [&] {
        const auto folder = KeyFolder::open("--collectors", path_.string(), {});
        return folder.ok() ? Error{} : folder.error();
    };
    ASSERT_EQ(::chmod(path_.c_str(), 0777), 0);
    EXPECT_EQ(refused().code, ErrorCode::kPermission);
    EXPECT_NE(refused().message.find("chmod o-w"), std::string::npos);
    std::filesystem::remove(path_);
    EXPECT_EQ(refused().code, ErrorCode::kNotFound);
    EXPECT_TRUE(refused().message.starts_with("--collectors " + path_.string()));
}

}  // namespace
}  // namespace perfleet
