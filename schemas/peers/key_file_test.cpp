#include "schemas/peers/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace perfleet {
namespace {

// The example of ZeroMQ RFC 32: eight bytes and their text, four times.
constexpr std::string_view kHelloWorld = "HelloWorldHelloWorldHelloWorldHelloWorld";

std::string enrolment_text(const std::string& more = "") {
    return "name = board-7\npublic-key = " + std::string{kHelloWorld} + "\n" + more;
}

std::string error_of(const std::string& text) {
    const auto parsed = parse_enrolment(text, "f");
    return parsed.ok() ? "" : parsed.error().message;
}

TEST(PublicKey, IsZ85) {
    const auto key = decode_public_key(kHelloWorld);
    ASSERT_TRUE(key.has_value());
    const std::array<unsigned char, 8> bytes{0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b};
    for (std::size_t i = 0; i < kCurveKeySizeBytes; ++i) {
        EXPECT_EQ(key->bytes.at(i), bytes.at(i % 8));
    }
    EXPECT_EQ(encode_public_key(*key), kHelloWorld);
}

TEST(PublicKey, RefusesOtherTexts) {
    EXPECT_FALSE(decode_public_key("").has_value());
    EXPECT_FALSE(decode_public_key(kHelloWorld.substr(1)).has_value());
    EXPECT_FALSE(decode_public_key("HelloWorldHelloWorldHelloWorldHelloWor d").has_value());
    EXPECT_FALSE(decode_public_key("#####WorldHelloWorldHelloWorldHelloWorld").has_value());  // 85^5 - 1 > 2^32 - 1
}

TEST(KeyFile, AnEnrolmentComesBackAsItWasWritten) {
    const auto parsed =
        parse_enrolment("# comment\n\n  name=board-7 \nlabel.rack = r 12 = \npublic-key = " + std::string{kHelloWorld} +
                            "\nlabel.app =\n",
                        "f");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed->name, "board-7");
    EXPECT_EQ(parsed->target, target_id_of("board-7"));
    const std::vector<std::pair<std::string, std::string>> labels{{"app", ""}, {"rack", "r 12 ="}};
    EXPECT_EQ(parsed->labels, labels);
    const auto again = parse_enrolment(format_enrolment(*parsed), "f");
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, *parsed);
}

TEST(KeyFile, FaultsNameFileAndLine) {
    EXPECT_TRUE(error_of("name\n").starts_with("f:1: "));
    EXPECT_TRUE(error_of("\nname = a b\n").starts_with("f:2: "));
    EXPECT_TRUE(error_of("name = a\nname = a\n").starts_with("f:2: "));
    EXPECT_TRUE(error_of("name = a\rb\n").starts_with("f:1: "));
    EXPECT_TRUE(error_of("# x\n\nnmae = a\n").starts_with("f:3: unknown key 'nmae'"));
    EXPECT_TRUE(error_of("public-key = short\n").starts_with("f:1: "));
    EXPECT_TRUE(error_of(enrolment_text("label. = x\n")).starts_with("f:3: "));
    EXPECT_TRUE(error_of(enrolment_text("label.a = x\nlabel.a = y\n")).starts_with("f:4: "));
    EXPECT_TRUE(error_of(enrolment_text("label.a = " + std::string(300, 'x'))).starts_with("f:3: "));
    std::string many;
    for (int i = 0; i < 33; ++i) {
        many += "label." + std::to_string(i) + " = x\n";
    }
    EXPECT_TRUE(error_of(enrolment_text(many)).starts_with("f:35: "));
    EXPECT_TRUE(error_of("name = a\n").starts_with("f: there is no line 'public-key"));
    EXPECT_TRUE(error_of("").starts_with("f: there is no line 'name"));
    EXPECT_FALSE(error_of(std::string(kKeyFileSizeBytesMax + 1, '#')).empty());
}

TEST(KeyFile, NamesAreFileNames) {
    for (const char* name : {"a", "board-7", "rack1.host_2", "B\xc3\xa4r"}) {
        EXPECT_TRUE(is_peer_name(name)) << name;
    }
    for (const std::string& name : {std::string{}, std::string{"a/b"}, std::string{".a"}, std::string{"-a"},
                                    std::string{"a b"}, std::string{"a\n"}, std::string(201, 'a')}) {
        EXPECT_FALSE(is_peer_name(name)) << name;
    }
}

TEST(KeyFile, ASecretInAPublicFileIsRefusedAndNotShown) {
    const std::string message = error_of(enrolment_text("secret-key = " + std::string{kHelloWorld} + "\n"));
    EXPECT_NE(message.find("secret"), std::string::npos);
    EXPECT_EQ(message.find(kHelloWorld), std::string::npos);
    EXPECT_EQ(error_of("secret-key = Hell0-typo\n").find("Hell0"), std::string::npos);
}

class SecretKeyFile : public testing::Test {
protected:
    SecretKeyFile() {
        std::string pattern = (std::filesystem::temp_directory_path() / "perfleet-key-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        path_ = (folder_ / "a.key").string();
        std::ofstream{path_} << format_secret_key({"a", std::string{kHelloWorld}, std::string{kHelloWorld}});
    }
    ~SecretKeyFile() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_;
    std::string path_;
};

TEST_F(SecretKeyFile, IsReadWhenOnlyItsOwnerCan) {
    for (const mode_t mode : {0600U, 0400U, 0700U}) {
        ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
        const auto key = load_secret_key(path_);
        ASSERT_TRUE(key.ok()) << key.error().message;
        EXPECT_EQ(key->name, "a");
        EXPECT_EQ(key->secret_text, kHelloWorld);
    }
}

TEST_F(SecretKeyFile, IsRefusedWhenOthersCanReadIt) {
    for (const mode_t mode : {0640U, 0604U, 0660U, 0644U, 0620U}) {
        ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
        const auto key = load_secret_key(path_);
        ASSERT_FALSE(key.ok());
        EXPECT_EQ(key.error().code, ErrorCode::kPermission);
        EXPECT_NE(key.error().message.find("chmod 600 " + path_), std::string::npos);
    }
}

// As on a tmpfs, where an access list for the service's user shows as what the group may do.
TEST_F(SecretKeyFile, OneThatSystemdLendsMayShowItsAccessListAsRightsOfTheGroup) {
    const auto refusal = [&](mode_t file, mode_t folder) {
        EXPECT_EQ(::chmod(path_.c_str(), file), 0);
        EXPECT_EQ(::chmod(folder_.c_str(), folder), 0);
        const auto key = load_secret_key(path_);
        EXPECT_EQ(::chmod(folder_.c_str(), 0700), 0);
        return key.ok() ? std::optional<ErrorCode>{} : key.error().code;
    };
    ASSERT_EQ(::setenv("CREDENTIALS_DIRECTORY", (folder_ / ".").c_str(), 1), 0);
    EXPECT_EQ(refusal(0440, 0550), std::nullopt);
    for (const mode_t mode : {0444U, 0460U, 0450U, 0404U}) {
        EXPECT_EQ(refusal(mode, 0550), ErrorCode::kPermission) << mode;
    }
    EXPECT_EQ(refusal(0440, 0555), ErrorCode::kPermission) << "others get there";
    const std::filesystem::path below = folder_ / "below";
    ASSERT_TRUE(std::filesystem::create_directory(below));
    ASSERT_EQ(::setenv("CREDENTIALS_DIRECTORY", below.c_str(), 1), 0);
    EXPECT_EQ(refusal(0440, 0550), ErrorCode::kPermission) << "not one of the credentials";
    ASSERT_EQ(::unsetenv("CREDENTIALS_DIRECTORY"), 0);
    EXPECT_EQ(refusal(0440, 0550), ErrorCode::kPermission);
}

TEST_F(SecretKeyFile, OnlyFilesAreOpened) {
    EXPECT_EQ(load_secret_key(folder_.string()).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(load_secret_key((folder_ / "b").string()).error().code, ErrorCode::kNotFound);
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(load_secret_key((folder_ / "pipe").string()).error().code, ErrorCode::kInvalid);  // and doesn't wait
}

TEST_F(SecretKeyFile, APublicKeyIsAFileOrItsText) {
    const auto text = load_public_key("--gateway-key", std::string{kHelloWorld});
    ASSERT_TRUE(text.ok());
    const std::string path = (folder_ / "a.pub").string();
    std::ofstream{path} << format_enrolment({"a", target_id_of("a"), *text, {}});
    const auto file = load_public_key("--gateway-key", path);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(*file, *text);
    EXPECT_FALSE(load_public_key("--gateway-key", path_).ok());  // the secret one
    const auto nothing = load_public_key("--gateway-key", "nowhere");
    ASSERT_FALSE(nothing.ok());
    EXPECT_TRUE(nothing.error().message.starts_with("--gateway-key nowhere"));
}

}  // namespace
}  // namespace perfleet
