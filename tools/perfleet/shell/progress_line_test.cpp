#include "tools/perfleet/shell/progress_line.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace perfleet {
namespace {

using std::chrono::seconds;

TEST(ProgressText, SaysHowMuchIsDoneAndWhatIsLeft) {
    EXPECT_EQ(progress_text("export", 43, 100, seconds{9}), "export: 43 %, about 12 s left");
    EXPECT_EQ(progress_text("copy", 1, 100, seconds{60}), "copy: 1 %, about 1 h 39 min left");
    EXPECT_EQ(progress_text("copy", 1, 10, seconds{60}), "copy: 10 %, about 9 min left");
    // The estimate may be short, and the work isn't over while the line is there.
    EXPECT_EQ(progress_text("top", 120, 100, seconds{10}), "top: 99 %, about 1 s left");
    EXPECT_EQ(progress_text("top", 0, 0, seconds{12}), "top: 12 s");
    EXPECT_EQ(progress_text("top", 0, 5, seconds{12}), "top: 12 s");
}

// What a program with such a line writes to its terminal. It ends when it has read a line.
std::string shown(std::chrono::milliseconds delay, const std::string& awaited) {
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
        ::alarm(60);
        ::setenv("TERM", "xterm", 1);
        ProgressLine line{"export", delay};
        line.report()(1, 4);
        char byte = 0;
        (void)!::read(STDIN_FILENO, &byte, 1);
        line.end();
        (void)!::write(STDERR_FILENO, "END", 3);
        ::_exit(0);
    }
    std::string output;
    std::array<char, 256> bytes{};
    const auto read_until = [&](const std::string& text) {
        while (output.find(text) == std::string::npos) {
            const ssize_t size = ::read(terminal, bytes.data(), bytes.size());
            if (size <= 0) {
                return;
            }
            output.append(bytes.data(), static_cast<std::size_t>(size));
        }
    };
    read_until(awaited);
    (void)!::write(terminal, "\n", 1);
    read_until("END");
    ::close(terminal);
    ::waitpid(child, nullptr, 0);
    return output;
}

TEST(ProgressLine, IsDrawnOnATerminalAndErased) {
    const std::string output = shown(std::chrono::milliseconds{1}, "25 %");
    EXPECT_NE(output.find("\r\x1b[Kperfleet: export: 25 %, about "), std::string::npos) << output;
    EXPECT_TRUE(output.ends_with("\r\x1b[KEND")) << output;
}

TEST(ProgressLine, IsNotDrawnForWhatIsQuick) {
    EXPECT_EQ(shown(std::chrono::hours{1}, "").find('\x1b'), std::string::npos);
}

TEST(ProgressLine, IsNothingOffATerminal) {
    testing::internal::CaptureStderr();
    {
        ProgressLine line{"export", std::chrono::milliseconds{0}};
        EXPECT_FALSE(line.report());
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace perfleet
