// One line on a terminal that shows how something long goes: rewritten in place, erased for every message and at the
// end. Shows nothing where standard error isn't a terminal, or the program runs in its background.
//
// A resource with a thread between start() and stop(). Any thread may write through it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace perfleet {

class LiveLine {
public:
    // What the line says now, in so many columns; what is longer is cut in the middle.
    using Text = std::function<std::string(std::size_t column_count)>;

    // Whether a line would be seen on standard error.
    [[nodiscard]] static bool is_possible();

    LiveLine() = default;
    LiveLine(const LiveLine&) = delete;
    LiveLine& operator=(const LiveLine&) = delete;
    ~LiveLine() { stop(); }

    // Shows `text`, which is called about once a second on another thread, first after `delay`. Only where
    // is_possible().
    void start(Text text, std::chrono::milliseconds delay = kShowEvery);
    // Erases the line. Does nothing where it wasn't started.
    void stop();

    // Erases the line and lets `write` write to standard error; the line comes back.
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
