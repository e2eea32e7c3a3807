// Both ends of a line without connections, with ZMTP on top, started again and again at any time.
#include "target-collector/wire/line_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "target-collector/wire/zmtp_driver.h"

namespace perfleet::line_stream_test {
namespace {

using Bytes = std::deque<std::byte>;

// One end of a cable that holds a few bytes each way, as the registers of a UART do.
class Cable final : public LinePort {
public:
    Cable(Bytes& out, Bytes& in) : out_{out}, in_{in} {}

    std::size_t write(std::span<const std::byte> bytes) override {
        const std::size_t size = std::min(bytes.size(), kHeldBytesMax - std::min(out_.size(), kHeldBytesMax));
        out_.insert(out_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        return size;
    }
    std::size_t read(std::span<std::byte> into) override {
        const std::size_t size = std::min(into.size(), in_.size());
        std::copy_n(in_.begin(), size, into.begin());
        in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(size));
        return size;
    }

    bool take_damage() override { return std::exchange(is_damaged, false); }

    bool is_damaged = false;

private:
    static constexpr std::size_t kHeldBytesMax = 16;

    Bytes& out_;
    Bytes& in_;
};

// What is at one end: it is gone when the machine is reset.
struct Machine {
    Machine(Bytes& out, Bytes& in, LineStream::End end)
        : cable{out, in}, stream{cable, end}, memory(1'000), driver{stream, memory, kTimeout} {}

    static constexpr ZmtpDriver::Options kTimeout{
        .handshake_ns_max = 2'000, .heartbeat_interval_ns = 1'000, .heartbeat_timeout_ns = 5'000};
    Cable cable;
    LineStream stream;
    std::vector<std::byte> memory;
    ZmtpDriver driver;
};

class LineStreamTest : public testing::Test {
protected:
    void start_host() {
        host_.reset();
        host_ = std::make_unique<Machine>(to_target_, to_host_, LineStream::End::kHost);
        (void)host_->stream.end_connection();
    }
    void start_target() {
        target_.reset();
        target_ = std::make_unique<Machine>(to_host_, to_target_, LineStream::End::kTarget);
    }
    void turn() {
        now_ns_ += 1;
        for (Machine* machine : {host_.get(), target_.get()}) {
            if (machine != nullptr) {
                machine->driver.tick(now_ns_);
            }
        }
    }
    // Until a message goes from the target to the host and back.
    void expect_to_speak() {
        const std::string said = "message " + std::to_string(++spoken_);
        std::string heard;
        bool is_said = false;
        for (int i = 0; i < 100'000 && heard != said; ++i) {
            turn();
            for (Machine* machine : {host_.get(), target_.get()}) {
                is_said = !machine->driver.reconnected() && is_said;
            }
            is_said = is_said || target_->driver.send(std::as_bytes(std::span{said}));
            heard = take(*host_);
        }
        EXPECT_EQ(heard, said);
    }
    static std::string take(Machine& machine) {
        std::vector<std::byte> bytes(1'000);
        const auto size = machine.driver.receive(bytes);
        return size.ok() ? std::string{reinterpret_cast<const char*>(bytes.data()), *size} : "";
    }

    Bytes to_target_;
    Bytes to_host_;
    std::unique_ptr<Machine> host_;
    std::unique_ptr<Machine> target_;
    std::uint64_t now_ns_ = 0;
    int spoken_ = 0;
};

TEST_F(LineStreamTest, DamagedBytesEndTheConnection) {
    start_target();
    start_host();
    expect_to_speak();
    const std::uint64_t before = target_->stream.connection();
    target_->cable.is_damaged = true;
    turn();
    EXPECT_EQ(target_->stream.connection(), 0U);
    expect_to_speak();
    EXPECT_GT(target_->stream.connection(), before);
}

TEST_F(LineStreamTest, TheTargetWaitsForTheHost) {
    start_target();
    turn();
    EXPECT_EQ(target_->stream.connection(), 0U);
    EXPECT_TRUE(to_host_.empty());
    start_host();
    expect_to_speak();
    EXPECT_EQ(target_->stream.connection(), 1U);
}

TEST_F(LineStreamTest, TheHostGreetsAgainUntilThereIsATarget) {
    start_host();
    for (int i = 0; i < 10'000; ++i) {
        turn();
        to_target_.clear();  // nobody is there
    }
    start_target();
    expect_to_speak();
}

TEST_F(LineStreamTest, BothEndsMayBeStartedAgainAtAnyTime) {
    start_host();
    start_target();
    std::mt19937 random{7};
    const std::string noise = "booting...\xff\x7f\x03 \xff";
    for (int i = 0; i < 500; ++i) {
        expect_to_speak();
        for (auto turns = random() % 40; turns > 0; --turns) {
            turn();
            (void)target_->driver.send(std::as_bytes(std::span{noise}));  // under way when it happens
        }
        if (random() % 2 == 0) {
            start_target();
            const auto bytes = std::as_bytes(std::span{noise});
            to_host_.insert(to_host_.end(), bytes.begin(), bytes.end());
        } else {
            start_host();
        }
    }
    expect_to_speak();
}

// As libzmq does it: ten bytes, and the rest after our greeting.
TEST_F(LineStreamTest, TheFirstTenBytesOfAGreetingAreAnswered) {
    start_target();
    const auto greeting = zmtp_layout::greeting();
    to_target_.assign(greeting.bytes.begin(), greeting.bytes.begin() + 10);
    for (int i = 0; i < 100; ++i) {
        turn();
    }
    EXPECT_EQ(target_->stream.connection(), 1U);
    EXPECT_FALSE(to_host_.empty());
}

TEST_F(LineStreamTest, AGreetingInPiecesOfAnySizeIsFound) {
    for (std::size_t cut = 1; cut < zmtp_layout::kGreetingSizeBytes; ++cut) {
        const auto greeting = zmtp_layout::greeting();
        to_target_.assign(3, std::byte{0xff});
        to_target_.insert(to_target_.end(), greeting.bytes.begin(),
                          greeting.bytes.begin() + static_cast<std::ptrdiff_t>(cut));
        Cable cable{to_host_, to_target_};
        LineStream stream{cable, LineStream::End::kTarget};
        std::vector<std::byte> read;
        const auto read_all = [&] {
            std::array<std::byte, 7> some{};
            while (stream.connection() != 0) {
                const std::size_t size = stream.read(some);
                read.insert(read.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(size));
                if (size == 0) {
                    break;
                }
            }
        };
        read_all();
        to_target_.insert(to_target_.end(), greeting.bytes.begin() + static_cast<std::ptrdiff_t>(cut),
                          greeting.bytes.end());
        read_all();
        EXPECT_EQ(stream.connection(), 1U);
        EXPECT_TRUE(std::equal(read.begin(), read.end(), greeting.bytes.begin(), greeting.bytes.end())) << cut;
        to_target_.clear();
    }
}

// The host greets again, and waits for an answer to that.
TEST_F(LineStreamTest, AGreetingThatCameBeforeAConnectionWasEndedBeginsNone) {
    const auto greeting = zmtp_layout::greeting();
    to_target_.assign(greeting.bytes.begin(), greeting.bytes.end());
    to_target_.insert(to_target_.end(), greeting.bytes.begin(), greeting.bytes.end());
    Cable cable{to_host_, to_target_};
    LineStream stream{cable, LineStream::End::kTarget};
    ASSERT_EQ(stream.connection(), 1U);
    std::array<std::byte, 7> some{};
    while (stream.read(some) == some.size()) {
    }
    EXPECT_TRUE(stream.end_connection());
    EXPECT_EQ(stream.connection(), 0U);
    to_target_.assign(greeting.bytes.begin(), greeting.bytes.end());
    EXPECT_EQ(stream.connection(), 2U);
}

}  // namespace
}  // namespace perfleet::line_stream_test
