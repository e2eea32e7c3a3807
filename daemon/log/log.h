// A daemon's log on standard error: levels, one line an event, and never a flood. The only place that knows spdlog.
//
// Any thread. What is left out is counted, and told with the next message of that kind, or at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"

namespace perfleet {

class Log {
public:
    // What matters less than `level` is not written. Level and format as given to --log-level and --log-format; errors:
    // kUsage, naming the option.
    [[nodiscard]] static Result<std::unique_ptr<Log>> to_standard_error(std::string program, std::string_view level,
                                                                        std::string_view format);
    virtual ~Log() = default;

    virtual void write(const LogEvent& event) = 0;

    // Messages left out because there were too many of their kind.
    [[nodiscard]] virtual std::uint64_t suppressed_count() const = 0;
};

}  // namespace perfleet
