// The client against libsodium's functions and the gateway's side of CurveZMQ.
#include "target-collector/curve/curve_client.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "schemas/zmtp/curve_server.h"
#include "target-collector/wire/zmtp_layout.h"

namespace perfleet {
namespace {

using curve::Key;
using curve::Nonce;

Key random_key() {
    Key key{};
    randombytes_buf(key.data(), key.size());
    return key;
}

const unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

TEST(SecretBox, IsLibsodiumsOfEverySize) {
    const Key secret = random_key();
    const Key other = random_key();
    Key other_public{};
    crypto_scalarmult_base(reinterpret_cast<unsigned char*>(other_public.data()), raw(other.data()));
    EXPECT_EQ(curve::public_key_of(other), other_public);
    Key shared{};
    ASSERT_TRUE(curve::share(secret, other_public, shared));
    for (std::size_t size = 0; size < 300; ++size) {
        Nonce nonce{};
        randombytes_buf(nonce.data(), nonce.size());
        std::vector<std::byte> box(curve::kMacSizeBytes + size);
        randombytes_buf(box.data(), box.size());
        const std::vector<std::byte> text{box.begin() + curve::kMacSizeBytes, box.end()};
        std::vector<std::byte> expected(box.size());
        ASSERT_EQ(crypto_box_easy(reinterpret_cast<unsigned char*>(expected.data()), raw(text.data()), text.size(),
                                  raw(nonce.data()), raw(other_public.data()), raw(secret.data())),
                  0);
        curve::seal(box, nonce, shared);
        ASSERT_EQ(box, expected) << size;
        std::vector<std::byte> changed = box;
        changed[size % box.size()] ^= std::byte{1};
        const std::vector<std::byte> before = changed;
        EXPECT_FALSE(curve::open(changed, nonce, shared)) << size;
        EXPECT_EQ(changed, before);
        ASSERT_TRUE(curve::open(box, nonce, shared));
        EXPECT_TRUE(std::equal(text.begin(), text.end(), box.begin() + curve::kMacSizeBytes)) << size;
    }
    EXPECT_FALSE(curve::share(secret, Key{}, shared)) << "a point of small order";
    std::vector<std::byte> none(curve::kMacSizeBytes - 1);
    EXPECT_FALSE(curve::open(none, {}, shared));
}

TEST(RandomStream, NeverSaysTheSameTwice) {
    const Key seed = random_key();
    curve::RandomStream one{seed};
    curve::RandomStream same{seed};
    std::vector<Key> taken;
    for (int i = 0; i < 100; ++i) {
        taken.push_back(one.take());
        EXPECT_EQ(taken.back(), same.take());
    }
    std::ranges::sort(taken);
    EXPECT_EQ(std::ranges::adjacent_find(taken), taken.end());
}

// Both sides, and what goes between them.
class CurveClientTest : public testing::Test {
protected:
    CurveClientTest() {
        crypto_box_keypair(server_keys_.public_key.data(), server_keys_.secret_key.data());
        std::memcpy(keys_.gateway_public.data(), server_keys_.public_key.data(), curve::kKeySizeBytes);
        keys_.own_secret = random_key();
    }

    // Data of the command in a frame.
    static std::vector<std::byte> data_of(std::span<const std::byte> frame) {
        const bool is_long = (frame[0] & std::byte{zmtp_layout::kLong}) != std::byte{};
        const auto body = frame.subspan(is_long ? 9 : 2);
        const auto data = body.subspan(1 + std::to_integer<std::size_t>(body[0]));
        return {data.begin(), data.end()};
    }
    static std::vector<std::byte> data_of(const std::string& frame) { return data_of(std::as_bytes(std::span{frame})); }

    std::vector<std::byte> welcome(CurveClient& client) {
        std::string out;
        EXPECT_TRUE(server_.take_hello(data_of(client.hello()), out));
        return data_of(out);
    }
    void shake_hands(CurveClient& client) {
        std::vector<std::byte> from_server = welcome(client);
        ASSERT_TRUE(client.take_welcome(from_server));
        const auto properties = zmtp_layout::properties();
        const auto peer = server_.take_initiate(data_of(client.initiate(properties.view())));
        ASSERT_TRUE(peer.has_value());
        EXPECT_EQ(std::memcmp(peer->key.bytes.data(), client.own_public().data(), curve::kKeySizeBytes), 0);
        EXPECT_EQ(peer->properties, (std::string{"\x0bSocket-Type\0\0\0\6DEALER", 22}));
        std::string out;
        server_.append_ready(out);
        std::vector<std::byte> ready = data_of(out);
        const auto answered = client.take_ready(ready);
        ASSERT_TRUE(answered.has_value());
        EXPECT_NE(std::string(reinterpret_cast<const char*>(answered->data()), answered->size()).find("ROUTER"),
                  std::string::npos);
    }
    // The body of a frame that the gateway sends.
    std::vector<std::byte> from_server(const std::string& text, std::uint8_t flags = 0) {
        std::string out;
        server_.append_message(out, flags, std::as_bytes(std::span{text}));
        const auto frame = std::as_bytes(std::span{out});
        const auto body = frame.subspan((frame[0] & std::byte{zmtp_layout::kLong}) != std::byte{} ? 9 : 2);
        return {body.begin(), body.end()};
    }

    zmtp::ServerKeys server_keys_;
    CurveClient::Keys keys_{};
    zmtp::CurveServer server_{server_keys_};
    std::array<std::byte, 1'000> memory_{};
};

TEST_F(CurveClientTest, TalksWithTheGatewaysSide) {
    CurveClient client{keys_, random_key(), memory_};
    shake_hands(client);
    for (const std::size_t size : {0U, 1U, 222U, 223U, 900U}) {
        const std::string text(size, 't');
        const std::size_t frame_size = client.seal(0, std::as_bytes(std::span{text}), memory_);
        ASSERT_LE(frame_size, size + ZmtpMechanism::kSealedOverheadBytes);
        const auto body = std::span{memory_}.first(frame_size).subspan(frame_size > 257 ? 9 : 2);
        std::vector<std::byte> space(body.size());
        const auto opened = server_.open(body, space);
        ASSERT_TRUE(opened.has_value()) << size;
        EXPECT_EQ(opened->flags, 0);
        EXPECT_EQ(opened->payload.size(), size);
        std::vector<std::byte> back = from_server(text, ZmtpMechanism::kCommandInside);
        const auto taken = client.open(back);
        ASSERT_TRUE(taken.has_value());
        EXPECT_EQ(taken->flags, ZmtpMechanism::kCommandInside);
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(taken->payload.data()), taken->payload.size()), text);
    }
}

TEST_F(CurveClientTest, RefusesWhatIsChangedRepeatedOrAnothersGateway) {
    CurveClient client{keys_, random_key(), memory_};
    const std::vector<std::byte> whole = welcome(client);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::vector<std::byte> changed = whole;
        changed[at] ^= std::byte{0x40};
        EXPECT_FALSE(client.take_welcome(changed)) << at;
    }
    for (const std::size_t size : {std::size_t{0}, whole.size() - 1}) {
        std::vector<std::byte> cut{whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)};
        EXPECT_FALSE(client.take_welcome(cut));
    }
    std::vector<std::byte> as_sent = whole;
    EXPECT_TRUE(client.take_welcome(as_sent));
    std::vector<std::byte> none(23);
    EXPECT_FALSE(client.take_ready(none).has_value());
    std::vector<std::byte> nonsense(60);
    EXPECT_FALSE(client.take_ready(nonsense).has_value());
    EXPECT_FALSE(client.open(nonsense).has_value());

    zmtp::CurveServer again{server_keys_};
    CurveClient::Keys wrong = keys_;
    wrong.gateway_public = curve::public_key_of(random_key());
    CurveClient stranger{wrong, random_key(), memory_};
    std::string out;
    EXPECT_FALSE(again.take_hello(data_of(stranger.hello()), out));
}

TEST_F(CurveClientTest, ReadsKeysThatAreSome) {
    std::array<std::byte, CurveClient::kKeysSizeBytes> bytes{};
    EXPECT_FALSE(CurveClient::read_keys(bytes).has_value()) << "zeros";
    std::memcpy(bytes.data(), keys_.gateway_public.data(), curve::kKeySizeBytes);
    EXPECT_FALSE(CurveClient::read_keys(bytes).has_value()) << "no secret";
    std::memcpy(bytes.data() + curve::kKeySizeBytes, keys_.own_secret.data(), curve::kKeySizeBytes);
    const auto read = CurveClient::read_keys(bytes);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->gateway_public, keys_.gateway_public);
    EXPECT_EQ(read->own_secret, keys_.own_secret);
    EXPECT_FALSE(CurveClient::read_keys(std::span{bytes}.first(63)).has_value());
}

TEST_F(CurveClientTest, TakesEachMessageOnce) {
    CurveClient client{keys_, random_key(), memory_};
    shake_hands(client);
    const std::vector<std::byte> first = from_server("first");
    const std::vector<std::byte> second = from_server("second");
    for (std::size_t at = 0; at < first.size(); ++at) {
        std::vector<std::byte> changed = first;
        changed[at] ^= std::byte{0x80};
        if (at >= 8 && at < 16) {
            continue;  // the nonce, which this would use up
        }
        CurveClient other{keys_, random_key(), memory_};
        EXPECT_FALSE(other.open(changed).has_value()) << at;
    }
    std::vector<std::byte> taken = second;
    EXPECT_TRUE(client.open(taken).has_value());
    for (const auto& late : {first, second}) {
        std::vector<std::byte> body = late;
        EXPECT_FALSE(client.open(body).has_value());
    }
}

}  // namespace
}  // namespace perfleet
