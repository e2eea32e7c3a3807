// A daemon's log on standard error: levels, one line per event, rate-limited. The only code that uses spdlog.
//
// Any thread. Suppressed messages are counted, and the count is logged with the next message of that kind, or at the
// end.
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
    // Doesn't write messages less important than `level`. Level and format as given to --log-level and --log-format.
    // Errors: kUsage, naming the option.
    [[nodiscard]] static Result<std::unique_ptr<Log>> to_standard_error(std::string program, std::string_view level,
                                                                        std::string_view format);
    virtual ~Log() = default;

    virtual void write(const LogEvent& event) = 0;

    // Messages suppressed by the rate limit.
    [[nodiscard]] virtual std::uint64_t suppressed_count() const = 0;
};

}  // namespace perfleet
