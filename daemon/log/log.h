// A daemon's log on standard error: levels, one line an event, and never a flood. The only place that knows spdlog.
//
// Any thread. What is left out is counted, and told with the next message of that kind, or at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schemas/vocabulary/log_event.h"

namespace perfleet {

class Log {
public:
    struct Options {
        std::string program;
        LogLevel level = LogLevel::kNotice;  // what matters less is not written
        LogFormat format = LogFormat::kText;
    };

    [[nodiscard]] static std::unique_ptr<Log> to_standard_error(Options options);
    virtual ~Log() = default;

    virtual void write(const LogEvent& event) = 0;

    // Messages left out because there were too many of their kind.
    [[nodiscard]] virtual std::uint64_t suppressed_count() const = 0;
};

}  // namespace perfleet
