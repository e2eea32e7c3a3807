#include "target-collector/wire/zmtp_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perfleet {
namespace {

using Event = ZmtpReader::Event;
using namespace std::string_literals;

const std::string kGreeting = "\xff\0\0\0\0\0\0\0\1\x7f\3\1NULL"s + std::string(48, '\0');
// As libzmq 4.3.4 sends it.
const std::string kReady = "\4\x29\5READY\xbSocket-Type\0\0\0\6ROUTER\x8Identity\0\0\0\0"s;
constexpr std::uint64_t kSkippedMax = 10'000;

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Seen {
    Event event{};
    std::string content{};
    bool operator==(const Seen&) const = default;
};

// All events of bytes that come in these pieces; the last is the fault's code, if there was one.
struct Reading {
    std::vector<Seen> seen;
    std::optional<ErrorCode> fault;
    bool operator==(const Reading&) const = default;
};
Reading read_all(const std::vector<std::string>& pieces) {
    std::array<std::byte, 300> memory{};
    ZmtpReader reader{memory, kSkippedMax};
    reader.begin();
    Reading reading;
    for (const std::string& piece : pieces) {
        auto rest = std::as_bytes(std::span{piece});
        while (!rest.empty()) {
            const auto step = reader.read(rest);
            if (!step.ok()) {
                reading.fault = step.error().code;
                return reading;
            }
            EXPECT_TRUE(step->event != Event::kNone || step->taken_bytes == rest.size());
            rest = rest.subspan(step->taken_bytes);
            if (step->event != Event::kNone) {
                reading.seen.push_back({step->event, step->event == Event::kMessage ? text_of(reader.message())
                                                     : step->event == Event::kPing  ? text_of(reader.ping_context())
                                                                                    : ""});
            }
        }
    }
    return reading;
}
Reading read_after_handshake(const std::string& bytes) {
    Reading reading = read_all({kGreeting, kReady, bytes});
    EXPECT_GE(reading.seen.size(), 2U);
    reading.seen.erase(reading.seen.begin(), reading.seen.begin() + 2);
    return reading;
}
ErrorCode fault_of(const std::string& bytes) { return read_all({bytes}).fault.value_or(ErrorCode{}); }

TEST(ZmtpReader, ReadsTheSameAtEverySplit) {
    const std::string bytes = kGreeting + kReady + "\0\5hello"s + "\4\7\4PING\0\0"s + "\4\xb\4PING\0\x64"s + "beat" +
                              "\2\0\0\0\0\0\0\1\4"s + std::string(260, 'x') + "\1\1a\0\1b"s + "\0\0"s +
                              "\2\0\0\0\0\0\0\x1\x90"s + std::string(400, 'y') + "\4\5\4PONG"s + "\0\3end"s;
    const Reading whole = read_all({bytes});
    const std::vector<Seen> expected = {{Event::kGreeting},         {Event::kReady},
                                        {Event::kMessage, "hello"}, {Event::kPing, ""},
                                        {Event::kPing, "beat"},     {Event::kMessage, std::string(260, 'x')},
                                        {Event::kSkippedMessage},   {Event::kSkippedMessage},
                                        {Event::kSkippedMessage},   {Event::kMessage, "end"}};
    EXPECT_EQ(whole.seen, expected);
    EXPECT_FALSE(whole.fault.has_value());
    for (std::size_t at = 0; at <= bytes.size(); ++at) {
        EXPECT_EQ(read_all({bytes.substr(0, at), bytes.substr(at)}), whole) << "split at " << at;
    }
    std::vector<std::string> single;
    for (const char byte : bytes) {
        single.emplace_back(1, byte);
    }
    EXPECT_EQ(read_all(single), whole);
}

TEST(ZmtpReader, TakesLaterVersionsAndUnknownCommands) {
    std::string later = kGreeting;
    later[10] = 4;
    EXPECT_EQ(read_all({later, kReady}).seen.size(), 2U);
    const Reading reading = read_after_handshake("\4\x6\5FUTUR"s + "\4\xa\4JOINgroup"s + "\0\1x"s);
    EXPECT_EQ(reading.seen, (std::vector<Seen>{{Event::kMessage, "x"}}));
    // Names of properties in any case, unknown ones among them.
    EXPECT_EQ(read_all({kGreeting, "\4\x29\5READY\xbsOCKET-tYPE\0\0\0\6ROUTER\x8X-Future\0\0\0\0"s}).seen.size(), 2U);
}

TEST(ZmtpReader, RefusesWhatIsNoGreeting) {
    EXPECT_EQ(fault_of("GET / HTTP/1.1"), ErrorCode::kInvalid);
    EXPECT_EQ(fault_of("\xff\0\0\0\0\0\0\0\1\x7e"s), ErrorCode::kInvalid);
    EXPECT_EQ(fault_of("\xff\0\0\0\0\0\0\0\1\x7f\1"s), ErrorCode::kUnsupported);
    EXPECT_EQ(fault_of("\xff\0\0\0\0\0\0\0\1\x7f\3\0CURVE"s), ErrorCode::kUnsupported);
    EXPECT_EQ(fault_of("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULLIFY"s), ErrorCode::kUnsupported);
}

TEST(ZmtpReader, RefusesWhatComesBeforeReadyOrTwice) {
    EXPECT_EQ(fault_of(kGreeting + "\0\1x"s), ErrorCode::kInvalid);
    EXPECT_EQ(fault_of(kGreeting + "\4\7\4PING\0\0"s), ErrorCode::kInvalid);
    EXPECT_EQ(fault_of(kGreeting + "\4\x9\5ERROR\2no"s), ErrorCode::kUnavailable);
}

TEST(ZmtpReader, RefusesBrokenCommands) {
    // Properties that end before their own sizes say, nameless ones, no socket type, or one that no DEALER talks to.
    EXPECT_EQ(fault_of(kGreeting + "\4\x6\5READY"s), ErrorCode::kInvalid);
    EXPECT_EQ(fault_of(kGreeting + "\4\xb\5READY\0\0\0\0\0"s), ErrorCode::kInvalid);
    EXPECT_EQ(fault_of(kGreeting + "\4\x1c\5READY\xbSocket-Type\0\0\0\7ROUTER"s), ErrorCode::kInvalid);
    EXPECT_EQ(fault_of(kGreeting + "\4\x1c\5READY\xbSocket-Type\xff\xff\xff\xffROUTER"s), ErrorCode::kInvalid);
    EXPECT_EQ(fault_of(kGreeting + "\4\x19\5READY\xbSocket-Type\0\0\0\3PUB"s), ErrorCode::kInvalid);
    for (const std::string& broken : {"\4\0"s, "\4\4\4PIN"s, "\4\6\4PING\0"s, "\5\7\4PING\0\0"s, "\x8\1x"s,
                                      "\4\x18\4PING\0\0"s + std::string(17, 'c'), "\1\1a\4\7\4PING\0\0"s}) {
        EXPECT_EQ(read_after_handshake(broken).fault, ErrorCode::kInvalid) << broken;
    }
}

TEST(ZmtpReader, RefusesFramesBeyondItsLimits) {
    EXPECT_EQ(read_after_handshake("\2\x7f\xff\xff\xff\xff\xff\xff\xff"s).fault, ErrorCode::kTooLarge);
    EXPECT_EQ(read_after_handshake("\2\0\0\0\0\0\0\x27\x11"s).fault, ErrorCode::kTooLarge);  // 10,001
    EXPECT_EQ(read_after_handshake("\6\0\0\0\0\0\0\2\1"s).fault, ErrorCode::kTooLarge);      // a command of 513
    EXPECT_EQ(fault_of(kGreeting + "\6\xff\xff\xff\xff\xff\xff\xff\xff"s), ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace perfleet
