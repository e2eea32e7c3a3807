#include "schemas/zmtp/peer_protocol.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schemas/zmtp/new_key.h"
#include "schemas/zmtp/testing/curve_client.h"

namespace perfleet::zmtp::peer_protocol_test {
namespace {

using Event = PeerProtocol::Event;

constexpr std::size_t kMessageSizeBytesMax = 1'000;

std::span<const std::byte> raw(std::string_view text) { return std::as_bytes(std::span{text}); }
std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string greeting(Mechanism mechanism) { return text_of(greeting_of(mechanism)); }
std::string ready(std::string_view socket_type) {
    std::string bytes;
    append_command(bytes, "READY", raw(properties_of(socket_type)));
    return bytes;
}
std::string message(std::string_view payload, std::uint8_t flags = 0) {
    std::string frame;
    append_frame_header(frame, flags, payload.size());
    return frame + std::string{payload};
}
std::string ping(std::string_view context) {
    std::string bytes;
    append_command(bytes, "PING", raw(std::string{"\0\1", 2} + std::string{context}));
    return bytes;
}

// All steps for the bytes received, up to the first that needs more, waits or ends.
struct Taken {
    std::vector<std::string> messages;
    Event last = Event::kNone;
    PeerProtocol::EndReason end_reason = nullptr;
    PublicKey key;
    std::size_t used_size_bytes = 0;
};
Taken take(PeerProtocol& peer, std::string_view input, PeerProtocol::Turn& turn) {
    Taken taken;
    while (true) {
        const auto step = peer.next(raw(input.substr(taken.used_size_bytes)), turn);
        taken.used_size_bytes += step.used_size_bytes;
        taken.last = step.event;
        taken.end_reason = step.end_reason;
        taken.key = step.key;
        if (step.event == Event::kMessage) {
            taken.messages.push_back(text_of(step.payload));
        } else if (step.event != Event::kDone) {
            return taken;
        }
    }
}
Taken take_one(std::string_view input) {
    PeerProtocol peer{nullptr, kMessageSizeBytesMax};
    PeerProtocol::Turn turn;
    return take(peer, input, turn);
}

const std::string kStart = greeting(Mechanism::kNull) + ready("DEALER");

TEST(PeerProtocol, GivesMessagesAndSaysHowMuchOfTheInputTheyWere) {
    PeerProtocol peer{nullptr, kMessageSizeBytesMax};
    PeerProtocol::Turn turn;
    const std::string whole = kStart + message("first") + message("") + message(std::string(1'000, 'L'));
    const Taken taken = take(peer, whole + message("unfinished").substr(0, 5), turn);
    EXPECT_EQ(taken.messages, (std::vector<std::string>{"first", "", std::string(1'000, 'L')}));
    EXPECT_EQ(taken.last, Event::kNone);
    EXPECT_EQ(taken.used_size_bytes, whole.size());
    EXPECT_EQ(turn.replies, ready("ROUTER"));
}

TEST(PeerProtocol, SaysHowLongAFrameWillBe) {
    PeerProtocol peer{nullptr, kMessageSizeBytesMax};
    PeerProtocol::Turn turn;
    EXPECT_EQ(peer.announced_size_bytes({}), kGreetingSizeBytes);
    (void)take(peer, kStart, turn);
    EXPECT_EQ(peer.announced_size_bytes({}), kFrameHeaderSizeBytesMax);
    EXPECT_EQ(peer.announced_size_bytes(raw(message(std::string(300, 'x')).substr(0, 9))), 309U);
}

TEST(PeerProtocol, AMessageOfPartsIsTheEndAtItsFirst) {
    const Taken taken = take_one(kStart + message("whole") + message("", kMore) + message("last"));
    EXPECT_EQ(taken.messages, std::vector<std::string>{"whole"});
    EXPECT_EQ(taken.end_reason, &TransportCounts::refused_unfinished_message);
}

TEST(PeerProtocol, WhatIsNoZmtpOrTooLargeIsTheEnd) {
    const std::pair<std::string, PeerProtocol::EndReason> kBad[] = {
        {"GET / HTTP/1.1\r\n\r\n", &TransportCounts::handshakes_malformed},
        {greeting(Mechanism::kCurve), &TransportCounts::handshakes_no_key},
        {greeting(Mechanism::kNull) + message("x"), &TransportCounts::handshakes_malformed},
        {greeting(Mechanism::kNull) + ready("PUB"), &TransportCounts::handshakes_malformed},
        {kStart + std::string{"\2\0\0\0\0\0\0\3\xe9", 9}, &TransportCounts::refused_abuse_limit},
        {kStart + std::string{"\x10\0", 2}, &TransportCounts::refused_abuse_limit},
        {kStart + std::string{"\4\1\5", 3}, &TransportCounts::refused_abuse_limit},
        {kStart + ping(std::string(17, 'c')), &TransportCounts::refused_abuse_limit}};
    for (const auto& [input, reason] : kBad) {
        const Taken taken = take_one(input);
        EXPECT_EQ(taken.last, Event::kEnd) << input;
        EXPECT_EQ(taken.end_reason, reason) << input;
    }
}

TEST(PeerProtocol, AnswersPingsAFewHundredOfThem) {
    PeerProtocol peer{nullptr, kMessageSizeBytesMax};
    PeerProtocol::Turn turn;
    (void)take(peer, kStart, turn);
    turn.replies.clear();
    (void)take(peer, ping("ab"), turn);
    EXPECT_EQ(turn.replies, (std::string{"\4\7\4PONGab", 9}));
    int count = 1;
    while (take(peer, ping(""), turn).last != Event::kEnd) {
        ASSERT_LT(++count, 10'000);
    }
    EXPECT_GT(count, 100);
    peer.forget_commands();
    EXPECT_EQ(take(peer, ping(""), turn).last, Event::kNone);
}

class CurveProtocol : public testing::Test {
protected:
    CurveProtocol()
        : server_{*make_secret_key("server")},
          own_{*make_secret_key("peer")},
          keys_{*decode_server_keys(server_.public_text, server_.secret_text)},
          client_keys_{*CurveClient::decode({own_, *decode_public_key(server_.public_text)})},
          client_{client_keys_},
          peer_{&keys_, kMessageSizeBytesMax} {}

    // Up to the answer to HELLO. What the peer says next.
    std::string initiate() {
        std::string hello = greeting(Mechanism::kCurve);
        client_.append_hello(hello);
        turn_.handshakes_left = 1;
        EXPECT_EQ(take(peer_, hello, turn_).last, Event::kNone);
        return initiate_after(std::exchange(turn_.replies, {}));
    }
    std::string initiate_after(std::string_view welcome) {
        std::string initiate;
        const auto command = read_command(raw(welcome.substr(2)));
        EXPECT_TRUE(command.has_value() && client_.take_welcome(command->data, properties_of("DEALER"), initiate));
        return initiate;
    }

    SecretKey server_;
    SecretKey own_;
    ServerKeys keys_;
    CurveClient::Keys client_keys_;
    CurveClient client_;
    PeerProtocol peer_;
    PeerProtocol::Turn turn_;
};

TEST_F(CurveProtocol, ShowsTheKeyAndIsReadyOnceItIsAccepted) {
    const std::string said = initiate();
    turn_.handshakes_left = 1;
    const Taken shown = take(peer_, said, turn_);
    ASSERT_EQ(shown.last, Event::kKey);
    EXPECT_EQ(encode_public_key(shown.key), own_.public_text);
    EXPECT_EQ(shown.used_size_bytes, said.size());
    EXPECT_FALSE(peer_.is_ready());
    peer_.accept(turn_.replies);
    EXPECT_TRUE(peer_.is_ready());
    const auto accepted = read_command(raw(std::string_view{turn_.replies}.substr(2)));
    ASSERT_TRUE(accepted.has_value() && client_.take_ready(accepted->data).has_value());
    std::string sealed;
    client_.append_message(sealed, 0, raw("secret"));
    EXPECT_EQ(take(peer_, sealed, turn_).messages, std::vector<std::string>{"secret"});
    sealed.clear();
    client_.append_message(sealed, CurveSession::kMoreInside, raw("part"));
    EXPECT_EQ(take(peer_, sealed, turn_).end_reason, &TransportCounts::refused_unfinished_message);
}

TEST_F(CurveProtocol, AHandshakeWaitsForATurnAndLosesNothing) {
    const std::string said = initiate();
    turn_.handshakes_left = 0;
    const Taken waits = take(peer_, said, turn_);
    EXPECT_EQ(waits.last, Event::kLater);
    EXPECT_EQ(waits.used_size_bytes, 0U);
    turn_.handshakes_left = 1;
    EXPECT_EQ(take(peer_, said, turn_).last, Event::kKey);
    EXPECT_EQ(turn_.handshakes_left, 0U);
}

}  // namespace
}  // namespace perfleet::zmtp::peer_protocol_test
