#include "tools/perfleet/shell/command_stop.h"

#include <csignal>

#include "tools/perfleet/shell/watch.h"

namespace perfleet {

CommandStop::CommandStop(Command* command)
    : command_{command}, fd_{catch_stop_signals({SIGINT, SIGTERM, SIGQUIT, SIGHUP})} {}

void CommandStop::pass_on() {
    constexpr std::chrono::milliseconds kTimeOfItsOwn{500};
    const int first = signal();
    if (first == 0 || command_ == nullptr) {
        return;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!end_at_) {
        end_at_ = now + (first == SIGINT || first == SIGQUIT ? kTimeOfItsOwn : std::chrono::milliseconds{0});
    }
    if (now >= *end_at_) {
        command_->terminate();
        command_ = nullptr;
    }
}

int CommandStop::signal() const { return first_stop_signal(); }

}  // namespace perfleet
