#include "schemas/peers/connection_table.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace perfleet {
namespace {

PublicKey key_of(unsigned char number) {
    PublicKey key;
    key.bytes[0] = number;
    return key;
}

std::shared_ptr<KeySet> set_of(std::initializer_list<unsigned char> numbers, const std::string& name = "n") {
    auto set = std::make_shared<KeySet>();
    for (const unsigned char number : numbers) {
        set->insert(std::make_shared<Enrolment>(
            Enrolment{name + std::to_string(number), target_id_of(name), key_of(number), {}}));
    }
    return set;
}

// A TCP connection over loopback, seen from the accepting side.
class Link {
public:
    Link() {
        const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(::bind(listener, any, sizeof address), 0);
        EXPECT_EQ(::listen(listener, 1), 0);
        EXPECT_EQ(::getsockname(listener, any, &size), 0);
        peer_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(::connect(peer_, any, sizeof address), 0);
        own_ = ::accept(listener, nullptr, nullptr);
        EXPECT_GE(own_, 0);
        ::close(listener);
    }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link() {
        ::close(own_);
        ::close(peer_);
    }

    [[nodiscard]] int descriptor() const { return own_; }
    [[nodiscard]] bool is_shut() const {
        pollfd waiting{own_, POLLIN | POLLRDHUP, 0};
        ::poll(&waiting, 1, 0);
        return (waiting.revents & (POLLRDHUP | POLLHUP)) != 0;
    }
    // And waits until they are there.
    void send(std::size_t size_bytes) {
        std::string bytes(size_bytes, 'x');
        for (std::size_t sent = 0; sent < size_bytes;) {
            const ssize_t part = ::send(peer_, bytes.data(), size_bytes - sent, MSG_NOSIGNAL);
            ASSERT_GT(part, 0);
            for (auto left = static_cast<std::size_t>(part); left > 0;) {
                const ssize_t taken = ::recv(own_, bytes.data(), left, 0);
                ASSERT_GT(taken, 0);
                left -= static_cast<std::size_t>(taken);
            }
            sent += static_cast<std::size_t>(part);
        }
    }
    // Its descriptor, used again for another socket.
    void replace() {
        const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ASSERT_EQ(::dup2(other, own_), own_);
        ::close(other);
    }

private:
    int own_ = -1;
    int peer_ = -1;
};

TEST(ConnectionTable, EndsTheNewestAboveTheLimit) {
    ConnectionTable table{{.connections_max = 2}};
    const Link one, two, three;
    table.accepted(one.descriptor(), 1);
    table.accepted(two.descriptor(), 1);
    table.accepted(three.descriptor(), 1);
    EXPECT_FALSE(one.is_shut());
    EXPECT_FALSE(two.is_shut());
    EXPECT_TRUE(three.is_shut());
    EXPECT_EQ(table.counts().refused_connection_limit, 1U);
    EXPECT_EQ(table.counts().connections_now, 3U);
    table.ended(three.descriptor());
    table.ended(one.descriptor());
    const Link four;
    table.accepted(four.descriptor(), 1);
    EXPECT_FALSE(four.is_shut());
    EXPECT_EQ(table.counts().connections_now, 2U);
    EXPECT_EQ(table.counts().connections_ended, 2U);
}

TEST(ConnectionTable, AMessageMayBeAheadOfTheNewsOfItsConnection) {
    ConnectionTable table{{.unheard_max = 1}};
    const Link good;
    Link again;
    table.heard(good.descriptor());
    table.accepted(again.descriptor(), 1);
    again.replace();  // another connection with the descriptor of one that said nothing, of whose end nobody has told
    table.heard(again.descriptor());
    table.accepted(good.descriptor(), 1);
    table.ended(again.descriptor());
    table.accepted(again.descriptor(), 1);
    for (int i = 0; i < 50; ++i) {
        const Link one, two;
        table.accepted(one.descriptor(), 1);
        table.accepted(two.descriptor(), 1);
        EXPECT_TRUE(one.is_shut() || two.is_shut());
        table.ended(one.descriptor());
        table.ended(two.descriptor());
    }
    EXPECT_FALSE(good.is_shut());
    EXPECT_EQ(table.counts().refused_unheard_limit, 50U) << "one of each two, never one that was heard";
}

TEST(ConnectionTable, EndsOneOfTooManyThatSaidNothing) {
    ConnectionTable table{{.unheard_max = 2}};
    const Link good, one, two, three;
    table.accepted(good.descriptor(), 1);
    table.heard(good.descriptor());
    for (const Link* link : {&one, &two, &three}) {
        table.accepted(link->descriptor(), 1);
    }
    EXPECT_FALSE(good.is_shut());
    EXPECT_EQ(one.is_shut() + two.is_shut() + three.is_shut(), 1);
    EXPECT_EQ(table.counts().refused_unheard_limit, 1U);
    EXPECT_EQ(table.counts().connections_unheard_now, 2U);
}

TEST(ConnectionTable, EndsTheMute) {
    ConnectionTable table{{.first_word_ns = 100}};
    const Link mute, good;
    table.accepted(mute.descriptor(), 1'000);
    table.accepted(good.descriptor(), 1'000);
    table.heard(good.descriptor());
    table.sweep(1'100);
    EXPECT_FALSE(mute.is_shut());
    table.sweep(1'101);
    EXPECT_TRUE(mute.is_shut());
    EXPECT_FALSE(good.is_shut());
    EXPECT_EQ(table.counts().refused_first_message_timeout, 1U);
    table.sweep(9'999);
    EXPECT_EQ(table.counts().refused_first_message_timeout, 1U);
}

TEST(ConnectionTable, EndsWhoNeverFinishesAMessage) {
    constexpr std::size_t kMax = 1U << 20;
    ConnectionTable table{{.unfinished_size_bytes_max = kMax}};
    Link endless;
    Link good;
    for (Link* link : {&endless, &good}) {
        table.accepted(link->descriptor(), 1);
        table.heard(link->descriptor());
    }
    table.sweep(2);
    for (int i = 0; i < 3; ++i) {
        endless.send(kMax / 2 + 1);
        good.send(kMax / 2 + 1);
        table.heard(good.descriptor());
        table.sweep(3);
        EXPECT_FALSE(endless.is_shut()) << "nobody looked for messages since";
    }
    table.drained();
    table.sweep(4);
    EXPECT_TRUE(endless.is_shut());
    EXPECT_FALSE(good.is_shut());
    EXPECT_EQ(table.counts().refused_unfinished_message, 1U);
}

TEST(ConnectionTable, EndsRevokedKeysAtOnce) {
    ConnectionTable table{{}};
    const Link stays, goes, changes, without_key;
    table.allow(set_of({1, 2, 3}), 0);
    for (const Link* link : {&stays, &goes, &changes, &without_key}) {
        table.accepted(link->descriptor(), 1);
    }
    EXPECT_EQ(table.heard(stays.descriptor(), key_of(1))->name, "n1");
    EXPECT_NE(table.heard(goes.descriptor(), key_of(2)), nullptr);
    EXPECT_NE(table.heard(changes.descriptor(), key_of(3)), nullptr);
    table.heard(without_key.descriptor());
    auto next = set_of({1});
    next->insert(set_of({3}, "renamed")->find(key_of(3)));
    table.allow(next, 5);
    EXPECT_FALSE(stays.is_shut());
    EXPECT_TRUE(goes.is_shut());
    EXPECT_TRUE(changes.is_shut());
    EXPECT_FALSE(without_key.is_shut());
    EXPECT_EQ(table.counts().refused_revoked, 2U);
    EXPECT_EQ(table.counts().keys_enrolled, 2U);
    EXPECT_EQ(table.counts().key_files_refused, 5U);
    EXPECT_EQ(table.heard(goes.descriptor(), key_of(2)), nullptr);
    EXPECT_EQ(table.counts().messages_revoked, 1U);
}

TEST(ConnectionTable, AMessageOfARevokedKeyEndsItsConnection) {
    ConnectionTable table{{}};
    const Link silent;
    table.allow(set_of({1}), 0);
    table.accepted(silent.descriptor(), 1);
    table.allow(set_of({}), 0);  // between its handshake and its first message
    EXPECT_FALSE(silent.is_shut());
    EXPECT_EQ(table.heard(silent.descriptor(), key_of(1)), nullptr);
    EXPECT_TRUE(silent.is_shut());
}

TEST(ConnectionTable, LimitsTheConnectionsOfOneKey) {
    ConnectionTable table{{.key_connections_max = 2}};
    table.allow(set_of({1, 2}), 0);
    const Link one, two, three, other;
    for (const Link* link : {&one, &two, &three}) {
        table.accepted(link->descriptor(), 1);
        EXPECT_NE(table.heard(link->descriptor(), key_of(1)), nullptr);
    }
    table.accepted(other.descriptor(), 1);
    EXPECT_NE(table.heard(other.descriptor(), key_of(2)), nullptr);
    EXPECT_FALSE(one.is_shut() || two.is_shut() || other.is_shut());
    EXPECT_TRUE(three.is_shut());
    table.ended(three.descriptor());
    table.ended(one.descriptor());
    const Link again;
    table.accepted(again.descriptor(), 1);
    EXPECT_NE(table.heard(again.descriptor(), key_of(1)), nullptr);
    EXPECT_FALSE(again.is_shut());
}

TEST(ConnectionTable, SparesAnotherSocketWithTheSameDescriptor) {
    ConnectionTable table{{.first_word_ns = 1}};
    Link link;
    table.accepted(link.descriptor(), 1);
    link.replace();
    table.sweep(100);
    EXPECT_EQ(table.counts().refused_first_message_timeout, 0U);
    EXPECT_EQ(table.counts().connections_now, 0U);  // nobody told, but it is gone
}

TEST(ConnectionTable, LeavesRoomBelowTheDescriptorLimit) {
    EXPECT_EQ(connections_for(20'000), 15'000U);
    EXPECT_EQ(connections_for(1'024), 512U);
    EXPECT_EQ(connections_for(1U << 30U), 65'536U);
    EXPECT_EQ(connections_for(0), 1U);
}

TEST(ConnectionTable, CutsTheNamedConnectionAndNoLaterOneOfItsDescriptor) {
    const Link link;
    ConnectionTable table{{}};
    table.accepted(link.descriptor(), 0);
    const ConnectionName name = table.name_of(link.descriptor());
    table.cut({name.descriptor, name.cookie + 1});  // of another one
    table.cut({});
    EXPECT_FALSE(link.is_shut());
    table.cut(name);
    table.cut(name);
    EXPECT_TRUE(link.is_shut());
    EXPECT_EQ(table.counts().refused_abuse_limit, 1U);
    table.ended(link.descriptor());
    EXPECT_EQ(table.name_of(link.descriptor()).cookie, 0U);
}

}  // namespace
}  // namespace perfleet
