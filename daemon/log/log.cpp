#include "daemon/log/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "daemon/log/log_line.h"
#include "daemon/log/rate_limit.h"
#include "schemas/host/host_clock.h"

namespace perfleet {
namespace {

constexpr const char* kTime = "%Y-%m-%dT%H:%M:%S.%eZ";

// systemd.exec(5): $JOURNAL_STREAM holds device and inode of the stream that is connected to the journal.
bool is_journal(const struct stat& stream) {
    const char* const journal = std::getenv("JOURNAL_STREAM");
    return journal != nullptr && journal == std::to_string(stream.st_dev) + ":" + std::to_string(stream.st_ino);
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
    switch (level) {
        case LogLevel::kError: return spdlog::level::err;
        case LogLevel::kWarning: return spdlog::level::warn;
        case LogLevel::kNotice: return spdlog::level::info;
        case LogLevel::kInfo: return spdlog::level::debug;
        case LogLevel::kDebug: return spdlog::level::trace;
    }
    return spdlog::level::info;
}

struct LogOptions {
    std::string program;
    LogLevel level{};
    LogFormat format{};
};

class StandardErrorLog final : public Log {
public:
    explicit StandardErrorLog(LogOptions options)
        : options_{std::move(options)}, logger_{options_.program, std::make_shared<spdlog::sinks::stderr_sink_mt>()} {
        struct stat stream {};
        const bool is_known = fstat(STDERR_FILENO, &stream) == 0;
        has_priority_ = options_.format == LogFormat::kText && is_known && is_journal(stream);
        const bool has_time = is_known && S_ISREG(stream.st_mode) && !has_priority_;
        const std::string pattern = options_.format == LogFormat::kJson
                                        ? "{\"time\":\"" + std::string{kTime} + "\",%v}"
                                        : (has_time ? std::string{kTime} + " %v" : std::string{"%v"});
        logger_.set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
        logger_.set_level(spdlog_level(options_.level));
    }

    ~StandardErrorLog() override {
        const std::lock_guard lock{mutex_};
        report_suppressed(limit_.take_all_suppressed());
        logger_.flush();
    }

    void write(const LogEvent& event) override {
        if (!logger_.should_log(spdlog_level(event.level()))) {
            return;
        }
        const std::lock_guard lock{mutex_};
        const std::uint64_t now = monotonic_now_ns();
        const auto verdict = limit_.ask(event.kind().empty() ? kind_of_text(event.text()) : event.kind(), now);
        if (verdict.may_be_written) {
            put(event, verdict.suppressed_before);
        }
        if (now - last_look_ns_ >= RateLimit::kEveryNs) {
            last_look_ns_ = now;
            report_suppressed(limit_.take_suppressed(now));
        }
    }

    [[nodiscard]] std::uint64_t suppressed_count() const override {
        const std::lock_guard lock{mutex_};
        return limit_.suppressed_count();
    }

private:
    void put(const LogEvent& event, std::uint64_t suppressed) {
        std::string line;
        if (options_.format == LogFormat::kJson) {
            line = json_members(options_.program, event, suppressed);
        } else {
            // systemd reads a priority at the start of a line (sd-daemon(3)).
            line = has_priority_ ? "<" + std::to_string(static_cast<int>(event.level())) + ">" : "";
            line += text_line(options_.program, event, suppressed);
        }
        logger_.log(spdlog_level(event.level()), spdlog::string_view_t{line});
    }

    void report_suppressed(const std::vector<std::pair<std::string, std::uint64_t>>& kinds) {
        for (const auto& [kind, count] : kinds) {
            put({LogLevel::kNotice, "suppressed",
                 std::to_string(count) + " more messages were left out, of the kind '" + kind + "'"},
                0);
        }
    }

    LogOptions options_;
    spdlog::logger logger_;
    bool has_priority_ = false;
    mutable std::mutex mutex_;
    RateLimit limit_;
    std::uint64_t last_look_ns_ = monotonic_now_ns();
};

}  // namespace

Result<std::unique_ptr<Log>> Log::to_standard_error(std::string program, std::string_view level,
                                                    std::string_view format) {
    const auto known_level = named_in(kLogLevelNames, level);
    if (!known_level) {
        return Error{ErrorCode::kUsage,
                     "--log-level " + std::string{level} + ": error, warning, notice, info or debug"};
    }
    const auto known_format = named_in(kLogFormatNames, format);
    if (!known_format) {
        return Error{ErrorCode::kUsage, "--log-format " + std::string{format} + ": text or json"};
    }
    return std::unique_ptr<Log>{
        std::make_unique<StandardErrorLog>(LogOptions{std::move(program), *known_level, *known_format})};
}

}  // namespace perfleet
