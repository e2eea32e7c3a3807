// One thing that a program tells its operator: a sentence, how much it matters, and what may be searched for.
//
// Hosts only. Everything is borrowed while it is told. It is made from a plain text where level and fields don't
// matter, and can be taken as one.
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

// As syslog has them; the numbers are its own.
enum class LogLevel : std::uint8_t {
    kError = 3,    // it can't go on, or something is lost
    kWarning = 4,  // it goes on, but somebody should look
    kNotice = 5,   // an operator must know, nothing is wrong
    kInfo = 6,
    kDebug = 7,
};

enum class LogFormat : std::uint8_t {
    kText,  // for people. Time stands in front in a file; the journal gets priorities instead
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

// The level or format that is called so in one of these tables; nothing when none is.
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

    // `kind` is a fixed word: messages of one kind share a limit of how many are written in a while.
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

// How modules log. A function that takes a std::string_view will do.
using LogSink = std::function<void(const LogEvent&)>;
// The same where all are of one level and kind.
using LogText = std::function<void(std::string_view)>;

}  // namespace perfleet
