#include "target-collector/sel4/root/x86_64/pc_clock.h"

namespace perfleet::sel4 {
namespace {

// Registers of the clock.
constexpr std::uint8_t kSecond = 0x00;
constexpr std::uint8_t kMinute = 0x02;
constexpr std::uint8_t kHour = 0x04;
constexpr std::uint8_t kDay = 0x07;
constexpr std::uint8_t kMonth = 0x08;
constexpr std::uint8_t kYear = 0x09;
constexpr std::uint8_t kFormat = 0x0b;
constexpr std::uint8_t kIsBinary = 1U << 2;  // of kFormat; else two decimal digits
constexpr std::int64_t kCentury = 2'000;     // it counts the years of one

std::uint8_t read_register(const IoPorts& ports, std::uint8_t name) {
    ports.out(kClockFirstPort, name);
    return ports.in(kClockLastPort);
}

// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": days_from_civil.
std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
    year -= month <= 2 ? 1 : 0;
    const std::int64_t era = year / 400;
    const std::int64_t year_of_era = year - era * 400;
    const std::int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146'097 + day_of_era - 719'468;
}

}  // namespace

std::int64_t wait_for_second(const IoPorts& ports) {
    const std::uint8_t before = read_register(ports, kSecond);
    while (read_register(ports, kSecond) == before) {
    }
    const bool is_binary = (read_register(ports, kFormat) & kIsBinary) != 0;
    // There is a second's time to read the rest.
    const auto value_of = [&](std::uint8_t name) {
        const std::int64_t value = read_register(ports, name);
        return is_binary ? value : value / 16 * 10 + value % 16;
    };
    const std::int64_t days = days_since_1970(kCentury + value_of(kYear), value_of(kMonth), value_of(kDay));
    return ((days * 24 + value_of(kHour)) * 60 + value_of(kMinute)) * 60 + value_of(kSecond);
}

}  // namespace perfleet::sel4
