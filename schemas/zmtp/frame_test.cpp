#include "schemas/zmtp/frame.h"

#include <gtest/gtest.h>

#include <string>

namespace perfleet::zmtp {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span{text}); }

// As libzmq sends it.
std::string null_greeting() {
    return std::string{"\xff\0\0\0\0\0\0\0\1\x7f\3\1", 12} + "NULL" + std::string(16, '\0') + std::string(32, '\0');
}

TEST(ZmtpGreeting, IsTheRfcsBytes) {
    const auto curve = greeting_of(Mechanism::kCurve);
    const std::string expected = std::string{"\xff\0\0\0\0\0\0\0\0\x7f\3\1", 12} + "CURVE" + std::string(15, '\0') +
                                 std::string{"\1"} + std::string(31, '\0');
    EXPECT_EQ((std::string{reinterpret_cast<const char*>(curve.data()), curve.size()}), expected);
}

TEST(ZmtpGreeting, IsCheckedAsItComes) {
    const std::string greeting = null_greeting();
    for (std::size_t size = 0; size <= greeting.size(); ++size) {
        EXPECT_EQ(check_greeting(bytes_of(greeting).first(size), Mechanism::kNull), GreetingFault::kNone) << size;
    }
    EXPECT_EQ(check_greeting(bytes_of(greeting), Mechanism::kCurve), GreetingFault::kOtherMechanism);
    EXPECT_EQ(check_greeting(bytes_of("G"), Mechanism::kNull), GreetingFault::kNotZmtp3);
    std::string zmtp2 = greeting;
    zmtp2[10] = 2;
    EXPECT_EQ(check_greeting(bytes_of(zmtp2), Mechanism::kNull), GreetingFault::kNotZmtp3);
    std::string longer_name = greeting;
    longer_name[16] = 'X';
    EXPECT_EQ(check_greeting(bytes_of(longer_name), Mechanism::kNull), GreetingFault::kOtherMechanism);
}

TEST(ZmtpFrame, HeaderIsReadWhenItIsThere) {
    std::string out;
    append_frame_header(out, 0, 255);
    EXPECT_EQ(out, (std::string{"\0\xff", 2}));
    out.clear();
    append_frame_header(out, kCommand, 256);
    EXPECT_EQ(out, (std::string{"\6\0\0\0\0\0\0\1\0", 9}));
    for (std::size_t size = 0; size < out.size(); ++size) {
        EXPECT_FALSE(read_frame_header(bytes_of(out).first(size)).has_value()) << size;
    }
    const auto header = read_frame_header(bytes_of(out));
    ASSERT_TRUE(header.has_value());
    EXPECT_TRUE(header->has(kCommand));
    EXPECT_FALSE(header->has(kMore));
    EXPECT_EQ(header->header_size_bytes, 9U);
    EXPECT_EQ(header->body_size_bytes, 256U);
}

TEST(ZmtpFrame, CommandsHaveNames) {
    std::string out;
    append_command(out, "PONG", bytes_of("abc"));
    EXPECT_EQ(out, (std::string{"\4\x8\4PONGabc", 10}));
    const auto command = read_command(bytes_of(out).subspan(2));
    ASSERT_TRUE(command.has_value());
    EXPECT_EQ(command->name, "PONG");
    EXPECT_EQ(command->data.size(), 3U);
    EXPECT_FALSE(read_command({}).has_value());
    EXPECT_FALSE(read_command(bytes_of("\5PONG")).has_value());
    EXPECT_FALSE(read_command(bytes_of(std::string(1, '\0'))).has_value());
}

TEST(ZmtpFrame, PropertiesAreFoundByNameInAnyCase) {
    const std::string properties = properties_of("ROUTER");
    EXPECT_EQ(properties, (std::string{"\xbSocket-Type\0\0\0\6ROUTER", 22}));
    EXPECT_EQ(find_property(bytes_of(properties), "socket-TYPE"), "ROUTER");
    EXPECT_FALSE(find_property(bytes_of(properties), "Identity").has_value());
    const auto cut_short = bytes_of(properties).first(properties.size() - 1);
    EXPECT_FALSE(find_property(cut_short, "Socket-Type").has_value());
    const std::string too_long{"\1a\xff\xff\xff\xff", 6};
    EXPECT_FALSE(find_property(bytes_of(too_long), "a").has_value());
}

}  // namespace
}  // namespace perfleet::zmtp
