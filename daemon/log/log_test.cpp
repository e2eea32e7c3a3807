#include "daemon/log/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <regex.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace perfleet {
namespace {

// The whole text, by a POSIX extended pattern.
bool matches(const std::string& text, const std::string& pattern) {
    regex_t compiled{};
    if (regcomp(&compiled, ("^(" + pattern + ")$").c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
        ADD_FAILURE() << pattern;
        return false;
    }
    const int status = regexec(&compiled, text.c_str(), 0, nullptr, 0);
    regfree(&compiled);
    return status == 0;
}

constexpr const char* kTime = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z";

// The text that `write` writes to standard error, which is `fd` meanwhile.
void with_standard_error(int fd, const std::function<void()>& write) {
    std::fflush(stderr);
    const int kept = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    write();
    std::fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
}

// At most what a pipe holds.
std::string to_pipe(const std::function<void()>& write, bool is_journal = false) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    struct stat stream {};
    EXPECT_EQ(fstat(ends[1], &stream), 0);
    const std::string name = std::to_string(stream.st_dev) + ":" + std::to_string(stream.st_ino);
    setenv("JOURNAL_STREAM", is_journal ? name.c_str() : "1:2", 1);
    with_standard_error(ends[1], write);
    unsetenv("JOURNAL_STREAM");
    close(ends[1]);
    std::string text;
    std::array<char, 4'096> buffer{};
    for (ssize_t size = 0; (size = read(ends[0], buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    close(ends[0]);
    return text;
}

std::unique_ptr<Log> log_of(std::string_view level, std::string_view format) {
    auto log = Log::to_standard_error("perfleet-test", level, format);
    EXPECT_TRUE(log.ok());
    return std::move(*log);
}

TEST(Log, WritesWhatMattersEnough) {
    const auto say_all = [](std::string_view level) {
        return to_pipe([&] {
            const auto log = log_of(level, "text");
            for (const auto& [name, each] : kLogLevelNames) {
                log->write({each, name, name});
            }
        });
    };
    EXPECT_EQ(say_all("error"), "perfleet-test: error\n");
    EXPECT_EQ(say_all("notice"), "perfleet-test: error\nperfleet-test: warning\nperfleet-test: notice\n");
    EXPECT_EQ(say_all("debug"),
              "perfleet-test: error\nperfleet-test: warning\nperfleet-test: notice\nperfleet-test: info\n"
              "perfleet-test: debug\n");
}

TEST(Log, TheJournalGetsPriorities) {
    const auto say = [] { log_of("notice", "text")->write({LogLevel::kWarning, "kind", "text"}); };
    EXPECT_EQ(to_pipe(say, true), "<4>perfleet-test: text\n");
    EXPECT_EQ(to_pipe(say, false), "perfleet-test: text\n");
}

TEST(Log, AFileGetsTimes) {
    std::FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    with_standard_error(fileno(file), [] { log_of("notice", "text")->write("text"); });
    std::array<char, 256> line{};
    rewind(file);
    ASSERT_NE(std::fgets(line.data(), line.size(), file), nullptr);
    std::fclose(file);
    EXPECT_TRUE(matches(line.data(), std::string{kTime} + " perfleet-test: text\n")) << line.data();
}

TEST(Log, JsonHasItsTime) {
    const std::string line = to_pipe([] {
        log_of("notice", "json")->write({LogLevel::kError, "kind", "{} %v \"x\""});
    });
    EXPECT_TRUE(matches(line, R"(\{"time":")" + std::string{kTime} +
                                  R"(","level":"error","program":"perfleet-test","kind":"kind",)"
                                  R"("message":"\{\} %v \\"x\\""\})"
                                  "\n"))
        << line;
}

TEST(Log, AFloodIsCutAndWhatWasLeftOutIsSaidAtTheEnd) {
    constexpr std::uint64_t kFlood = 1'000;
    std::uint64_t suppressed = 0;
    const std::string text = to_pipe([&] {
        const auto log = log_of("notice", "text");
        for (std::uint64_t i = 0; i < kFlood; ++i) {
            log->write("batch " + std::to_string(i) + " was refused");
        }
        log->write("another thing");
        suppressed = log->suppressed_count();
    });
    EXPECT_GE(suppressed, kFlood / 2);
    const auto count = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    EXPECT_LE(count, kFlood - suppressed + 3);
    EXPECT_NE(text.find("perfleet-test: another thing\n"), std::string::npos) << text;
    EXPECT_NE(text.find("of the kind 'batch'\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace perfleet
