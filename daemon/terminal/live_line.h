// One line on a terminal that shows the progress of a long operation: rewritten in place, erased before every message
// and at the end. Shows nothing if standard error isn't a terminal, or the program runs in the background.
//
// Has a thread between start() and stop(). Any thread may write through it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class LiveLine : NonCopyable {
public:
    // The text of the line, for this many columns; longer text is cut in the middle.
    using Text = std::function<std::string(std::size_t column_count)>;

    // Whether a line would be visible on standard error.
    [[nodiscard]] static bool is_possible();

    ~LiveLine() { stop(); }

    // Shows `text`, which is called about once a second on another thread, first after `delay`. Does nothing unless
    // is_possible().
    void start(Text text, std::chrono::milliseconds delay = kShowEvery);
    // Erases the line. Does nothing if it wasn't started.
    void stop();

    // Erases the line and calls `write`, which may write to standard error; the line comes back.
    void write(const std::function<void()>& write);

private:
    static constexpr std::chrono::milliseconds kShowEvery{1'000};

    void run(const Text& text, std::chrono::milliseconds delay);
    void show(const std::string& line);
    void erase();

    std::mutex mutex_;
    std::condition_variable stopping_;
    bool is_stopping_ = false;
    bool is_shown_ = false;
    std::thread thread_;
};

}  // namespace perfleet
