// The drivers of the two UARTs. Their registers are memory, so a UART here is always in one state: the line takes all
// bytes or none, the receiver has the same byte again and again or none.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "target-collector/bare-metal/ns16550_port.h"
#include "target-collector/bare-metal/uart_port.h"

namespace perfleet::bare_metal::uart_test {
namespace {

// The bits as the manuals have them (Arm DDI 0183, 3.3; PC16550D, 8.6).
class Pl011 : public testing::Test {
protected:
    static constexpr std::uint32_t kReceiveEmpty = 0x10;
    static constexpr std::uint32_t kTransmitFull = 0x20;

    [[nodiscard]] std::uint32_t& at(std::size_t offset) { return registers_[offset / 4]; }
    [[nodiscard]] std::uint32_t& data() { return at(0x00); }
    [[nodiscard]] std::uint32_t& flags() { return at(0x18); }

    std::array<std::uint32_t, 0x1000 / 4> registers_{};
    UartPort port_{reinterpret_cast<std::uint64_t>(registers_.data())};
    std::array<std::byte, 4> read_{};
};

TEST_F(Pl011, StartTurnsItOnAndSaysNothingToAPeerThatHasNotSpoken) {
    flags() = kReceiveEmpty;
    port_.start();
    EXPECT_EQ(at(0x2c), 0x70U) << "8 bits, FIFOs";
    EXPECT_EQ(at(0x30), 0x301U) << "the UART, its transmitter and its receiver";
    EXPECT_EQ(data(), 0U);
}

TEST_F(Pl011, StartRefusesAPeerThatHasSpoken) {
    port_.start();
    EXPECT_EQ(data(), 0xffU);
}

TEST_F(Pl011, StartGivesUpItsRefusalOnALineThatTakesNothing) {
    flags() = kTransmitFull;
    port_.start();
    EXPECT_EQ(data(), 0U);
    EXPECT_EQ(at(0x30), 0x301U);
}

TEST_F(Pl011, WritesWhatTheLineTakes) {
    const std::array bytes{std::byte{1}, std::byte{2}};
    EXPECT_EQ(port_.write(bytes), 2U);
    EXPECT_EQ(data(), 2U);
    flags() = kTransmitFull;
    EXPECT_EQ(port_.write(bytes), 0U);
}

TEST_F(Pl011, EachErrorBitIsDamageAndItsByteIsNotRead) {
    data() = 'a';
    ASSERT_EQ(port_.read(read_), read_.size());
    EXPECT_EQ(read_.front(), std::byte{'a'});
    EXPECT_FALSE(port_.take_damage());
    for (const std::uint32_t error : {0x100U, 0x200U, 0x400U, 0x800U}) {  // framing, parity, break, overrun
        flags() = 0;
        data() = error | 'b';
        EXPECT_EQ(port_.read(read_), 0U) << error;
        flags() = kReceiveEmpty;
        EXPECT_EQ(port_.read(read_), 0U);
        EXPECT_TRUE(port_.take_damage()) << error;
        EXPECT_FALSE(port_.take_damage()) << "it is reported once";
    }
}

class Ns16550 : public testing::Test {
protected:
    static constexpr std::uint8_t kReceived = 0x01;
    static constexpr std::uint8_t kTransmitEmpty = 0x20;

    [[nodiscard]] std::uint8_t& data() { return registers_[0]; }
    [[nodiscard]] std::uint8_t& status() { return registers_[5]; }

    std::array<std::uint8_t, 8> registers_{};
    Ns16550Port port_{reinterpret_cast<std::uint64_t>(registers_.data())};
    std::array<std::byte, 4> read_{};
};

TEST_F(Ns16550, WritesWhatTheLineTakes) {
    const std::array bytes{std::byte{1}, std::byte{2}};
    EXPECT_EQ(port_.write(bytes), 0U);
    status() = kTransmitEmpty;
    EXPECT_EQ(port_.write(bytes), 2U);
    EXPECT_EQ(data(), 2U);
}

TEST_F(Ns16550, EachErrorBitIsDamageWhoeverReadsTheStatus) {
    status() = kReceived;
    data() = 'a';
    ASSERT_EQ(port_.read(read_), read_.size());
    EXPECT_EQ(read_.front(), std::byte{'a'});
    EXPECT_FALSE(port_.take_damage());
    for (const unsigned error : {0x02U, 0x04U, 0x08U, 0x10U}) {  // overrun, parity, framing, break
        for (const bool is_seen_by_write : {false, true}) {
            status() = static_cast<std::uint8_t>(error);
            if (is_seen_by_write) {
                EXPECT_EQ(port_.write(read_), 0U);
            } else {
                EXPECT_EQ(port_.read(read_), 0U);
            }
            status() = 0;  // a 16550 reports an error once
            EXPECT_EQ(port_.read(read_), 0U);
            EXPECT_TRUE(port_.take_damage()) << error;
            EXPECT_FALSE(port_.take_damage()) << "it is reported once";
        }
    }
}

}  // namespace
}  // namespace perfleet::bare_metal::uart_test
