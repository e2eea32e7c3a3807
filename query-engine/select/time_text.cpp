// Times as people write them: RFC 3339, `now`, or an offset from now; and ranges of them as perf does.
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "query-engine/select/selection.h"
#include "schemas/text/parse.h"

namespace perfleet {
namespace {

Error time_error(std::string_view text, const std::string& what) {
    return Error{
        ErrorCode::kUsage,
        "time \"" + std::string{text.substr(0, 64)} + "\": " + what +
            "; write RFC 3339 (2024-05-01T12:00:00Z), now, 10:00, today, yesterday, or an offset such as -15m, 2h"};
}

// Reads exactly `digit_count` digits; -1 when they are not there.
int take_digits(std::string_view& rest, std::size_t digit_count) {
    if (rest.size() < digit_count) {
        return -1;
    }
    int value = 0;
    for (std::size_t i = 0; i < digit_count; ++i) {
        if (std::isdigit(static_cast<unsigned char>(rest[i])) == 0) {
            return -1;
        }
        value = value * 10 + (rest[i] - '0');
    }
    rest.remove_prefix(digit_count);
    return value;
}

bool take(std::string_view& rest, std::string_view any_of) {
    if (rest.empty() || any_of.find(rest.front()) == std::string_view::npos) {
        return false;
    }
    rest.remove_prefix(1);
    return true;
}

Result<UtcNs> to_utc_ns(std::string_view text, std::int64_t seconds, std::int64_t fraction_ns) {
    std::int64_t ns = 0;
    if (__builtin_mul_overflow(seconds, kNsPerSecond, &ns) || __builtin_add_overflow(ns, fraction_ns, &ns)) {
        return time_error(text, "outside the years 1678 to 2261");
    }
    return UtcNs{ns};
}

Result<UtcNs> parse_offset(std::string_view text, UtcNs now) {
    std::string_view rest = text.substr(1);
    std::int64_t count = 0;
    std::size_t digit_count = 0;
    while (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front())) != 0) {
        if (++digit_count > 12) {
            return time_error(text, "offset too large");
        }
        count = count * 10 + (rest.front() - '0');
        rest.remove_prefix(1);
    }
    if (digit_count == 0) {
        return time_error(text, "expected a number after '-'");
    }
    std::int64_t unit_s = 0;
    if (rest == "s") {
        unit_s = 1;
    } else if (rest == "m") {
        unit_s = 60;
    } else if (rest == "h") {
        unit_s = 3600;
    } else if (rest == "d") {
        unit_s = 86400;
    } else {
        return time_error(text, "expected one of the units s, m, h, d");
    }
    std::int64_t ns = 0;
    if (__builtin_mul_overflow(count * unit_s, kNsPerSecond, &ns) || __builtin_sub_overflow(now.value, ns, &ns)) {
        return time_error(text, "offset too large");
    }
    return UtcNs{ns};
}

// Midnight of today or of the day before; of a time of day, HH:MM or HH:MM:SS, the latest one. By this process's time
// zone. Nothing: the text is none of these.
std::optional<UtcNs> parse_local(std::string_view text, UtcNs now) {
    std::string_view rest = text;
    const bool is_day = text == "today" || text == "yesterday";
    const int hour = is_day ? 0 : take_digits(rest, 2);
    const bool colon = is_day || take(rest, ":");
    const int minute = is_day ? 0 : take_digits(rest, 2);
    const int second = !is_day && take(rest, ":") ? take_digits(rest, 2) : 0;
    if (hour < 0 || hour > 23 || !colon || minute < 0 || minute > 59 || second < 0 || second > 59 ||
        (!is_day && !rest.empty())) {
        return std::nullopt;
    }
    const std::time_t now_s = std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds{now.value}).count();
    std::tm time{};
    ::localtime_r(&now_s, &time);
    const auto on_day = [&, day = time.tm_mday](int days_ago) {
        std::tm at = time;
        at.tm_mday = day - days_ago;
        at.tm_hour = hour;
        at.tm_min = minute;
        at.tm_sec = second;
        at.tm_isdst = -1;
        return ::mktime(&at);
    };
    const bool is_of_yesterday = text == "yesterday" || on_day(0) > now_s;
    return UtcNs{on_day(is_of_yesterday ? 1 : 0) * kNsPerSecond};
}

// "15m", as "-15m".
bool is_offset(std::string_view text) {
    return text.size() > 1 && text.find_first_not_of("0123456789") == text.size() - 1 &&
           std::string_view{"smhd"}.find(text.back()) != std::string_view::npos;
}

// Seconds with up to nine decimals, as ns; nothing if the text is anything else.
std::optional<std::uint64_t> seconds_ns(std::string_view text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string digits{text.substr(0, point)};
    const std::string_view fraction = text.substr(std::min(point + 1, text.size()));
    digits += fraction;
    digits.append(fraction.size() > 9 ? 0 : 9 - fraction.size(), '0');
    return point != 0 && fraction.size() <= 9 ? number_of<std::uint64_t>(digits) : std::nullopt;
}

// The fraction in a text like "10%".
std::optional<double> share_of(std::string_view text) {
    const auto percent = text.ends_with('%') ? number_of<double>(text.substr(0, text.size() - 1)) : std::nullopt;
    return percent && *percent >= 0 && *percent <= 100 ? std::optional{*percent / 100} : std::nullopt;
}

std::optional<TimeWindow> window_of_shares(std::string_view text) {
    const std::size_t mark = std::min(text.find_first_of("-/"), text.size());
    const std::optional<double> first = share_of(text.substr(0, mark));
    TimeWindow::Share share{0, first.value_or(0)};
    const std::string_view rest = text.substr(std::min(mark + 1, text.size()));
    bool is_valid = first.has_value();
    if (mark < text.size() && text[mark] == '-') {
        const std::optional<double> last = share_of(rest);
        is_valid = is_valid && last;
        share = {share.last, last.value_or(0)};
    } else if (mark < text.size()) {
        const auto number = number_of<unsigned>(rest).value_or(0);
        is_valid = is_valid && number > 0;
        share = {share.last * (number - 1.0), share.last * number};
    }
    constexpr double kRounding = 1e-9;  // 33.4%/3 exceeds 100 %; 10%/10 doesn't
    is_valid = is_valid && share.first < share.last && share.last <= 1 + kRounding;
    return is_valid ? std::optional{TimeWindow{TimeWindow::Share{share.first, std::min(share.last, 1.0)}}}
                    : std::nullopt;
}

std::optional<TimeWindow> window_of_clock(std::string_view text) {
    const std::size_t comma = text.find(',');
    TimeWindow::Clock clock;
    if (comma == std::string_view::npos || text.size() == 1) {
        return std::nullopt;
    }
    for (const auto& [part, ns] :
         {std::pair{text.substr(0, comma), &clock.first_ns}, std::pair{text.substr(comma + 1), &clock.last_ns}}) {
        if (const std::optional<std::uint64_t> given = seconds_ns(part); given) {
            *ns = *given;
        } else if (!part.empty()) {
            return std::nullopt;
        }
    }
    return clock.first_ns <= clock.last_ns ? std::optional{TimeWindow{clock}} : std::nullopt;
}

}  // namespace

Result<TimeWindow> parse_window(std::string_view text) {
    const std::optional<TimeWindow> window =
        text.find('%') == std::string_view::npos ? window_of_clock(text) : window_of_shares(text);
    if (!window) {
        return Error{ErrorCode::kUsage, "\"" + std::string{text.substr(0, 64)} +
                                            "\" is not a range of time: START,STOP in seconds as 'perfleet script' "
                                            "prints them (either may be missing), or a part of the recording: "
                                            "10%-20%, 10%/2, 10%. Times of day: --from and --until"};
    }
    return *window;
}

std::pair<Ticks, Ticks> TimeWindow::ticks(std::uint64_t ticks_per_second, Ticks first_sample, Ticks last_sample) const {
    if (const auto* const share = std::get_if<Share>(&part)) {
        const auto total = static_cast<double>(last_sample.value - first_sample.value);
        const auto at = [&](double of) {
            return first_sample.value + static_cast<std::uint64_t>(std::llround(of * total));
        };
        return {Ticks{at(share->first)}, Ticks{share->last < 1 ? at(share->last) : last_sample.value + 1}};
    }
    using Wide = unsigned __int128;
    const auto& clock = std::get<Clock>(part);
    const std::uint64_t per_second = ticks_per_second == 0 ? kNsPerSecond : ticks_per_second;
    const Wide first = (Wide{clock.first_ns} * per_second + kNsPerSecond - 1) / kNsPerSecond;
    const Wide last = Wide{clock.last_ns} * per_second / kNsPerSecond + 1;
    return {Ticks{static_cast<std::uint64_t>(std::min<Wide>(first, ~0ULL))},
            Ticks{static_cast<std::uint64_t>(std::min<Wide>(last, ~0ULL))}};
}

std::string format_time(UtcNs time) {
    const std::chrono::sys_time<std::chrono::nanoseconds> moment{std::chrono::nanoseconds{time.value}};
    const auto midnight = std::chrono::floor<std::chrono::days>(moment);
    const std::chrono::year_month_day date{midnight};
    const std::chrono::hh_mm_ss day_time{moment - midnight};
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02lld:%02lld:%02lld.%09lldZ",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<long long>(day_time.hours().count()), static_cast<long long>(day_time.minutes().count()),
                  static_cast<long long>(day_time.seconds().count()),
                  static_cast<long long>(day_time.subseconds().count()));
    return text.data();
}

Result<UtcNs> parse_time(std::string_view text, UtcNs now) {
    if (text == "now") {
        return now;
    }
    if (text.starts_with('-') || is_offset(text)) {
        return parse_offset(is_offset(text) ? "-" + std::string{text} : std::string{text}, now);
    }
    if (const auto local = parse_local(text, now)) {
        return *local;
    }
    std::string_view rest = text;
    const int year = take_digits(rest, 4);
    const bool dash1 = take(rest, "-");
    const int month = take_digits(rest, 2);
    const bool dash2 = take(rest, "-");
    const int day = take_digits(rest, 2);
    if (year < 0 || !dash1 || month < 0 || !dash2 || day < 0) {
        return time_error(text, "not a time");
    }
    const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{static_cast<unsigned>(day)}};
    if (!date.ok()) {
        return time_error(text, "there is no such day");
    }
    const bool separator = take(rest, "Tt ");
    const int hour = take_digits(rest, 2);
    const bool colon1 = take(rest, ":");
    const int minute = take_digits(rest, 2);
    const bool colon2 = take(rest, ":");
    const int second = take_digits(rest, 2);
    if (!separator || hour < 0 || !colon1 || minute < 0 || !colon2 || second < 0) {
        return time_error(text, "the time of day is missing or incomplete");
    }
    // Second 60 is a leap second: Unix time gives it the number of the next second.
    if (hour > 23 || minute > 59 || second > 60) {
        return time_error(text, "there is no such time of day");
    }
    std::int64_t fraction_ns = 0;
    if (take(rest, ".")) {
        std::int64_t digit_ns = 100'000'000;
        std::size_t digit_count = 0;
        while (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front())) != 0) {
            if (++digit_count > 9) {
                return time_error(text, "finer than a nanosecond");
            }
            fraction_ns += (rest.front() - '0') * digit_ns;
            digit_ns /= 10;
            rest.remove_prefix(1);
        }
        if (digit_count == 0) {
            return time_error(text, "expected digits after '.'");
        }
    }
    std::int64_t zone_s = 0;
    if (!take(rest, "Zz")) {
        const bool west = rest.starts_with('-');
        const bool sign = take(rest, "+-");
        const int zone_hour = take_digits(rest, 2);
        const bool colon = take(rest, ":");
        const int zone_minute = take_digits(rest, 2);
        if (!sign || zone_hour < 0 || !colon || zone_minute < 0 || zone_hour > 23 || zone_minute > 59) {
            return time_error(text, "the zone is missing (Z, +02:00)");
        }
        zone_s = (zone_hour * 3600 + zone_minute * 60) * (west ? -1 : 1);
    }
    if (!rest.empty()) {
        return time_error(text, "text after the zone");
    }
    const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
    return to_utc_ns(text, days * 86400 + hour * 3600 + minute * 60 + second - zone_s, fraction_ns);
}

}  // namespace perfleet
