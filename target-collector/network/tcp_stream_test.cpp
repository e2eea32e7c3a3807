// The TCP stream against a host and a cable of this test, in its time.
#include "target-collector/network/tcp_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "target-collector/network/testing/played_network.h"

namespace perfleet::tcp_stream_test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1'000 * kMs;
constexpr std::uint32_t kTargetAddress = 0x0a09'0002;

std::string pattern(std::size_t size_bytes) {
    std::string bytes(size_bytes, '\0');
    std::uint32_t value = 1;
    for (char& byte : bytes) {
        value = value * 1'664'525 + 1'013'904'223;
        byte = static_cast<char>(value >> 24);
    }
    return bytes;
}

class TcpStreamTest : public testing::Test {
protected:
    void start(std::uint64_t seed = 7) {
        stream_ = std::make_unique<TcpStream>(
            network_, TcpStream::Options{.gateway = {{PlayedHost::kAddress}, PlayedHost::kPort},
                                         .address = Ipv4Network{{kTargetAddress}, {0xffff'ff00}, {}},
                                         .seed = seed});
    }
    // A millisecond: one turn of the target's loop.
    void turn() {
        now_ns_ += kMs;
        stream_->tick(now_ns_);
        std::byte buffer[512];
        while (const std::size_t size = stream_->read(buffer)) {
            read_.append(reinterpret_cast<const char*>(buffer), size);
        }
        if (const std::uint64_t connection = stream_->connection(); connection != connection_) {
            connection_ = connection;
            written_ = 0;
        }
        while (written_ < to_write_.size()) {
            const auto rest = std::as_bytes(std::span{to_write_}.subspan(written_));
            const std::size_t head = rest.size() < 9 ? rest.size() : 9;
            const std::size_t taken = stream_->write(rest.first(head), rest.subspan(head));
            written_ += taken;
            if (taken == 0) {
                break;
            }
        }
        network_.pass(now_ns_);
    }
    template <class Condition>
    [[nodiscard]] std::optional<double> seconds_until(const Condition& condition, double seconds_max) {
        const std::uint64_t begun_ns = now_ns_;
        while (!condition()) {
            if (static_cast<double>(now_ns_ - begun_ns) > seconds_max * 1e9) {
                return std::nullopt;
            }
            turn();
        }
        return static_cast<double>(now_ns_ - begun_ns) / 1e9;
    }
    [[nodiscard]] bool is_connected() const { return stream_->connection() != 0; }
    [[nodiscard]] const std::string& received() const { return network_.host.connections().back().received; }

    PlayedNetwork network_;
    std::unique_ptr<TcpStream> stream_;
    std::uint64_t now_ns_ = 1'000 * kSecond;
    std::uint64_t connection_ = 0;
    std::string to_write_;
    std::size_t written_ = 0;
    std::string read_;
};

TEST_F(TcpStreamTest, BytesArriveAsTheyWereWrittenBothWays) {
    start();
    to_write_ = pattern(3'000'000);
    const std::string answer = pattern(200'000);
    ASSERT_TRUE(seconds_until([&] { return is_connected(); }, 3));
    network_.host.send(answer);
    ASSERT_TRUE(
        seconds_until([&] { return received().size() == to_write_.size() && read_.size() == answer.size(); }, 60));
    EXPECT_TRUE(received() == to_write_);
    EXPECT_TRUE(read_ == answer);
    EXPECT_EQ(stream_->counts().connections_made, 1U);
    EXPECT_EQ(stream_->counts().connections_lost, 0U);
    EXPECT_EQ(TcpStream::address().value, kTargetAddress);
}

TEST_F(TcpStreamTest, AFullSegmentFillsAFrame) {
    start();
    to_write_ = pattern(100'000);
    ASSERT_TRUE(seconds_until([&] { return is_connected() && received().size() == to_write_.size(); }, 5));
    std::size_t full = 0;
    for (const Frame& frame : network_.sent) {
        full += frame.size() == EthernetPort::kFrameSizeBytesMax ? 1 : 0;
    }
    EXPECT_GE(full, 60U);  // of 69
}

struct Faulty {
    CableFaults faults;
    std::size_t bytes;
    double seconds_max;
};
class TcpStreamOverAFaultyCable : public TcpStreamTest, public testing::WithParamInterface<Faulty> {};
INSTANTIATE_TEST_SUITE_P(Each, TcpStreamOverAFaultyCable,
                         testing::Values(Faulty{{.lost = 0.01}, 2'000'000, 400}, Faulty{{.lost = 0.05}, 500'000, 600},
                                         Faulty{{.lost = 0.2}, 50'000, 1'500}, Faulty{{.doubled = 0.3}, 1'000'000, 100},
                                         Faulty{{.reordered = 0.2}, 500'000, 600},
                                         Faulty{{.damaged = 0.05}, 500'000, 600}, Faulty{{.cut = 0.05}, 500'000, 600},
                                         Faulty{{0.02, 0.1, 0.1, 0.02, 0.02}, 200'000, 900}));

TEST_P(TcpStreamOverAFaultyCable, WhatArrivesIsWhatWasWritten) {
    start();
    network_.faults = GetParam().faults;
    to_write_ = pattern(GetParam().bytes);
    const auto took = seconds_until(
        [&] { return is_connected() && !network_.host.connections().empty() && received().size() == to_write_.size(); },
        GetParam().seconds_max);
    ASSERT_TRUE(took) << (network_.host.connections().empty() ? 0 : received().size()) << " bytes, "
                      << stream_->counts().connections_made << " connections";
    EXPECT_TRUE(received() == to_write_);
}

TEST_F(TcpStreamTest, EachConnectionHasAnotherPortAndAnotherFirstNumber) {
    start();
    for (std::uint64_t i = 1; i <= 5; ++i) {
        ASSERT_TRUE(seconds_until([&] { return is_connected(); }, 3));
        EXPECT_EQ(stream_->connection(), i);
        EXPECT_TRUE(stream_->end_connection());
        EXPECT_FALSE(is_connected());
        network_.pass(now_ns_);
        EXPECT_TRUE(network_.host.connections().back().was_reset) << "ended by RST, so nothing of it comes later";
    }
    std::set<std::uint16_t> ports;
    std::set<std::uint32_t> numbers;
    for (const auto& connection : network_.host.connections()) {
        ports.insert(connection.port);
        numbers.insert(connection.first_number);
    }
    EXPECT_EQ(ports.size(), 5U);
    EXPECT_EQ(numbers.size(), 5U);
    EXPECT_EQ(stream_->counts().connections_ended, 5U);
}

TEST_F(TcpStreamTest, AnotherSeedGivesOtherPortsAndNumbers) {
    std::set<std::uint16_t> ports;
    std::set<std::uint32_t> numbers;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        start(seed);
        connection_ = 0;
        ASSERT_TRUE(seconds_until([&] { return is_connected(); }, 5));
        ports.insert(network_.host.connections().back().port);
        numbers.insert(network_.host.connections().back().first_number);
        stream_.reset();
        network_.pass(now_ns_);
    }
    EXPECT_EQ(ports.size(), 3U);
    EXPECT_EQ(numbers.size(), 3U);
}

TEST_F(TcpStreamTest, WhatTheHostSaidBeforeItClosedIsRead) {
    start();
    ASSERT_TRUE(seconds_until([&] { return is_connected(); }, 3));
    network_.host.send("goodbye");
    network_.host.close();
    ASSERT_TRUE(seconds_until([&] { return !is_connected(); }, 3));
    EXPECT_EQ(read_, "goodbye");
    EXPECT_EQ(stream_->counts().connections_lost, 1U);
    ASSERT_TRUE(seconds_until([&] { return is_connected(); }, 3)) << "and connects again";
}

TEST_F(TcpStreamTest, AHostThatResetsIsConnectedToAgain) {
    start();
    for (std::uint64_t i = 1; i <= 20; ++i) {
        ASSERT_TRUE(seconds_until([&] { return stream_->connection() == i; }, 3)) << i;
        network_.host.reset();
        ASSERT_TRUE(seconds_until([&] { return !is_connected(); }, 1)) << i;
    }
    EXPECT_EQ(stream_->counts().connections_lost, 20U);
}

TEST_F(TcpStreamTest, AfterAMinuteWithoutALinkBytesArriveWithinSeconds) {
    start();
    ASSERT_TRUE(seconds_until([&] { return is_connected(); }, 3));
    network_.has_link = false;
    turn();
    EXPECT_FALSE(is_connected()) << "the link ends the connection";
    const std::size_t sent_before = network_.sent.size();
    EXPECT_FALSE(seconds_until([&] { return is_connected(); }, 60));
    EXPECT_LE(network_.sent.size(), sent_before + 2) << "nothing is sent without a link";
    network_.has_link = true;
    to_write_ = "again";
    const auto took = seconds_until([&] { return is_connected() && received() == "again"; }, 15);
    EXPECT_TRUE(took);
    EXPECT_EQ(stream_->counts().connections_made, 2U);
}

TEST_F(TcpStreamTest, AMuteHostIsTriedUntilItAnswers) {
    network_.host.set_mute(true);
    start();
    EXPECT_FALSE(seconds_until([&] { return is_connected(); }, 60));
    EXPECT_GE(stream_->counts().attempts_failed, 8U);
    network_.host.set_mute(false);
    EXPECT_TRUE(seconds_until([&] { return is_connected(); }, 15));
}

TEST_F(TcpStreamTest, ATickTakesSixteenFramesHoweverManyWait) {
    start();
    ASSERT_TRUE(seconds_until([&] { return is_connected(); }, 3));
    for (std::uint32_t i = 0; i < 1'000; ++i) {
        network_.put(arp_request(0x0a09'0100 + i, kTargetAddress));
    }
    const std::size_t waiting = network_.waiting();
    stream_->tick(now_ns_ += kMs);
    EXPECT_EQ(network_.waiting(), waiting - TcpStream::kFramesMax);
}

TEST_F(TcpStreamTest, FloodsDontKeepBytesFromArriving) {
    start();
    to_write_ = pattern(300'000);
    ASSERT_TRUE(seconds_until([&] { return is_connected(); }, 3));
    std::uint32_t number = 0;
    const auto took = seconds_until(
        [&] {
            // Half of a tick's capacity: ARP from always new hosts, SYN to always new ports.
            for (int i = 0; i < 4; ++i) {
                ++number;
                network_.put(arp_request(0x0a09'0000 + number % 0xff00, kTargetAddress));
                network_.put(tcp_segment(0x0a09'0003, 1'000, kTargetAddress, static_cast<std::uint16_t>(number), number,
                                         0, 2, {}));
            }
            return received().size() == to_write_.size();
        },
        60);
    ASSERT_TRUE(took);
    EXPECT_TRUE(received() == to_write_);
    EXPECT_EQ(stream_->counts().connections_made, 1U);
}

TEST_F(TcpStreamTest, FramesThatThePortHasNoMemoryForAreCountedAndSentLater) {
    network_.frames_free = 2;
    start();
    to_write_ = pattern(300'000);
    ASSERT_TRUE(seconds_until([&] { return is_connected() && received().size() == to_write_.size(); }, 60));
    EXPECT_TRUE(received() == to_write_);
    EXPECT_GT(stream_->counts().frames_unsent, 0U);
}

TEST_F(TcpStreamTest, AReaderThatReadsNothingStopsTheHostAndNothingElse) {
    start();
    ASSERT_TRUE(seconds_until([&] { return is_connected(); }, 3));
    const std::string answer = pattern(50'000);
    network_.host.send(answer);
    for (int i = 0; i < 2'000; ++i) {
        stream_->tick(now_ns_ += kMs);
        network_.pass(now_ns_);
    }
    EXPECT_TRUE(is_connected());
    ASSERT_TRUE(seconds_until([&] { return read_.size() == answer.size(); }, 60));
    EXPECT_TRUE(read_ == answer);
}

}  // namespace
}  // namespace perfleet::tcp_stream_test
