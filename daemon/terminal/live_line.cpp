#include "daemon/terminal/live_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr std::size_t kDefaultColumns = 80;
constexpr std::string_view kErase = "\r\x1b[K";

std::size_t terminal_columns() {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : kDefaultColumns;
}

// While the program runs in the background, the terminal belongs to the shell.
bool is_in_foreground() { return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp(); }

void put(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

}  // namespace

bool LiveLine::is_possible() {
    const char* const terminal = std::getenv("TERM");
    return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view{terminal} != "dumb";
}

void LiveLine::start(Text text, std::chrono::milliseconds delay) {
    is_stopping_ = false;
    thread_ = std::thread{[this, delay, shown = std::move(text)] { run(shown, delay); }};
}

void LiveLine::stop() {
    if (!thread_.joinable()) {
        return;
    }
    {
        const std::lock_guard lock{mutex_};
        is_stopping_ = true;
    }
    stopping_.notify_all();
    thread_.join();
    const std::lock_guard lock{mutex_};
    erase();
}

void LiveLine::write(const std::function<void()>& write) {
    const std::lock_guard lock{mutex_};
    erase();
    write();
}

void LiveLine::run(const Text& text, std::chrono::milliseconds delay) {
    std::unique_lock lock{mutex_};
    for (auto wait = delay; !stopping_.wait_for(lock, wait, [this] { return is_stopping_; }); wait = kShowEvery) {
        lock.unlock();
        const std::size_t column_count = terminal_columns() - 1;
        const std::string now = shortened(text(column_count), column_count);
        lock.lock();
        if (!is_stopping_ && is_in_foreground()) {
            show(now);
        }
    }
}

void LiveLine::show(const std::string& line) {
    put(std::string{kErase} + line);
    is_shown_ = true;
}

void LiveLine::erase() {
    if (is_shown_) {
        put(kErase);
        is_shown_ = false;
    }
}

}  // namespace perfleet
