// A message of a program for its operator: a sentence, its level, and fields to search for.
//
// Hosts only. Borrows everything during the call. Converts from and to plain text, where level and fields don't matter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

// Levels and their numbers are those of syslog.
enum class LogLevel : std::uint8_t {
    kError = 3,    // the program can't go on, or something is lost
    kWarning = 4,  // the program goes on, but an operator should look at it
    kNotice = 5,   // an operator should know; nothing is wrong
    kInfo = 6,
    kDebug = 7,
};

enum class LogFormat : std::uint8_t {
    kText,  // for people; a file has the time in front, the journal gets priorities
    kJson,  // one object a line, always with its time
};

inline constexpr std::array kLogLevelNames{
    std::pair<std::string_view, LogLevel>{"error", LogLevel::kError},
    std::pair<std::string_view, LogLevel>{"warning", LogLevel::kWarning},
    std::pair<std::string_view, LogLevel>{"notice", LogLevel::kNotice},
    std::pair<std::string_view, LogLevel>{"info", LogLevel::kInfo},
    std::pair<std::string_view, LogLevel>{"debug", LogLevel::kDebug},
};
inline constexpr std::array kLogFormatNames{
    std::pair<std::string_view, LogFormat>{"text", LogFormat::kText},
    std::pair<std::string_view, LogFormat>{"json", LogFormat::kJson},
};

// The level or format with this name in one of these tables; nothing if there is none.
template <class Names>
[[nodiscard]] constexpr auto named_in(const Names& names, std::string_view name)
    -> std::optional<typename Names::value_type::second_type> {
    for (const auto& [known, value] : names) {
        if (known == name) {
            return value;
        }
    }
    return std::nullopt;
}

struct LogField {
    std::string_view name;
    std::string_view value;
};

class LogEvent {
public:
    static constexpr std::size_t kFieldsMax = 6;

    LogEvent(std::string_view text) : text_{text} {}    // NOLINT(google-explicit-constructor)
    LogEvent(const std::string& text) : text_{text} {}  // NOLINT(google-explicit-constructor)
    LogEvent(const char* text) : text_{text} {}         // NOLINT(google-explicit-constructor)

    // `kind` is a fixed word: messages of one kind share a rate limit.
    LogEvent(LogLevel level, std::string_view kind, std::string_view text, std::initializer_list<LogField> fields = {})
        : level_{level}, kind_{kind}, text_{text}, field_count_{fields.size()} {
        PERFLEET_ASSERT(fields.size() <= kFieldsMax);
        std::size_t index = 0;
        for (const LogField& field : fields) {
            fields_[index++] = field;
        }
    }

    [[nodiscard]] LogLevel level() const { return level_; }
    [[nodiscard]] std::string_view kind() const { return kind_; }  // empty: none
    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] std::span<const LogField> fields() const { return std::span{fields_}.first(field_count_); }

    operator std::string_view() const { return text_; }  // NOLINT(google-explicit-constructor)

private:
    LogLevel level_ = LogLevel::kWarning;
    std::string_view kind_;
    std::string_view text_;
    std::array<LogField, kFieldsMax> fields_{};
    std::size_t field_count_ = 0;
};

// The interface through which modules log. A function that takes a std::string_view fits, too.
using LogSink = std::function<void(const LogEvent&)>;
// The same if all messages have one level and kind.
using LogText = std::function<void(std::string_view)>;

}  // namespace perfleet
