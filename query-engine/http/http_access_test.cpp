#include "query-engine/http/http_access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace perfleet::http_access_test {
namespace {

// As sha256sum(1) prints them.
constexpr const char* kHashOfAbc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kHashOfNothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(HttpTokens, HaveNamesAndRoles) {
    const auto tokens = HttpTokens::parse(std::string{"# comment\n\n  "} + kHashOfAbc + "\tread web-7\r\n" +
                                              kHashOfNothing + " push,read ci # no comment",
                                          "file");
    EXPECT_FALSE(tokens.ok()) << "words behind the name";
    const auto good = HttpTokens::parse(
        std::string{"# comment\n\n  "} + kHashOfAbc + "\tread web-7\r\n" + kHashOfNothing + " push,read ci", "file");
    ASSERT_TRUE(good.ok()) << good.error().message;
    const HttpIdentity* const reader = good->find("abc");
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(reader->name, "web-7");
    EXPECT_TRUE(reader->may(HttpRole::kRead));
    EXPECT_TRUE(reader->may(HttpRole::kNone));
    EXPECT_FALSE(reader->may(HttpRole::kPush));
    ASSERT_NE(good->find(""), nullptr);
    EXPECT_TRUE(good->find("")->may(HttpRole::kPush));
    EXPECT_EQ(good->find("")->push_size_bytes_max, HttpIdentity::kNoQuota);
    const auto limited = HttpTokens::parse(std::string{kHashOfAbc} + " push ci quota=3m", "file");
    ASSERT_TRUE(limited.ok()) << limited.error().message;
    EXPECT_EQ(limited->find("abc")->push_size_bytes_max, 3U << 20);
    EXPECT_EQ(good->find("abd"), nullptr);
    EXPECT_EQ(good->find(kHashOfAbc), nullptr) << "the hash is no token";
}

TEST(HttpTokens, FaultsNameFileAndLine) {
    const std::string hash = kHashOfAbc;
    for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
             {"\nperfleet_secret read a", "file:2: it doesn't begin with sha256:"},
             {hash.substr(0, 70) + " read a", "file:1: it doesn't begin with sha256:"},
             {hash + "00 read a", "file:1: it doesn't begin with sha256:"},
             {hash + " write a", "file:1: 'write' is no role"},
             {hash + " read,,push a", "file:1: '' is no role"},
             {hash, "file:1: after the hash come roles"},
             {hash + " read", "file:1: after the hash come roles"},
             {hash + " read a/b", "file:1: after the hash come roles"},
             {hash + " push a 500m", "file:1: after the hash come roles"},
             {hash + " push a quota=5x", "file:1: quota=SIZE is what"},
             {hash + " read a quota=5m", "file:1: quota=SIZE is what"},
             {hash + " read a\n" + hash + " push b", "file:2: this token occurs twice"},
             {std::string(HttpTokens::kFileSizeBytesMax + 1, '\n'), "at most 1 MiB"}}) {
        const auto tokens = HttpTokens::parse(text, "file");
        ASSERT_FALSE(tokens.ok()) << text.substr(0, 100);
        EXPECT_NE(tokens.error().message.find(expected), std::string::npos) << tokens.error().message;
        EXPECT_EQ(tokens.error().message.find("secret"), std::string::npos) << "it may be a token";
    }
}

TEST(HttpAccess, FilesAreReadAgainAndFaultyOnesChangeNothing) {
    const std::string path = testing::TempDir() + "http_access_tokens";
    const auto write = [&](const std::string& text) { std::ofstream{path, std::ios::trunc} << text; };
    write(std::string{kHashOfAbc} + " read a\n");
    std::vector<std::string> logged;
    auto access = HttpAccess::load({path, {}}, [&](const LogEvent& event) { logged.emplace_back(event.text()); });
    ASSERT_TRUE(access.ok()) << access.error().message;
    EXPECT_TRUE(access->asks());
    access->refresh();
    EXPECT_TRUE(logged.empty());
    write("nonsense, which is longer than before, and then some more of it to have another size\n");
    access->refresh();
    EXPECT_TRUE(logged.empty()) << "somebody may still write";
    access->refresh();
    access->refresh();
    ASSERT_EQ(logged.size(), 1U);
    EXPECT_NE(logged[0].find(path + ":1: "), std::string::npos) << logged[0];
    EXPECT_NE(access->tokens().find("abc"), nullptr);
    write(std::string{kHashOfNothing} + " read b\n");
    access->refresh();
    access->refresh();
    EXPECT_EQ(access->tokens().find("abc"), nullptr);
    EXPECT_NE(access->tokens().find(""), nullptr);
    ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
    const auto open_to_all = HttpAccess::load({path, {}}, {});
    ASSERT_FALSE(open_to_all.ok());
    EXPECT_NE(open_to_all.error().message.find("chmod o-w"), std::string::npos) << open_to_all.error().message;
    std::filesystem::remove(path);
    access->refresh();
    access->refresh();
    EXPECT_NE(access->tokens().find(""), nullptr) << "a file that has gone changes nothing";
    EXPECT_FALSE(HttpAccess::load({path, {}}, {}).ok());
}

TEST(HttpAccess, TokensAreRandomAndKnownByTheirHash) {
    const auto a = make_token();
    const auto b = make_token();
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->size(), b->size());
    EXPECT_NE(*a, *b);
    EXPECT_TRUE(is_same_hash(hash_of_token(*a), hash_of_token(*a)));
    EXPECT_FALSE(is_same_hash(hash_of_token(*a), hash_of_token(*b)));
}

}  // namespace
}  // namespace perfleet::http_access_test
