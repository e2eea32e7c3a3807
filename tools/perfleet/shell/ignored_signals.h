// Ignores signals during its lifetime; programs that are started meanwhile ignore them, too.
#pragma once

#include <csignal>
#include <initializer_list>
#include <utility>
#include <vector>

namespace perfleet {

class IgnoredSignals {
public:
    IgnoredSignals(std::initializer_list<int> signals) {
        for (const int signal : signals) {
            before_.emplace_back(signal, std::signal(signal, SIG_IGN));
        }
    }
    ~IgnoredSignals() {
        for (const auto& [signal, handler] : before_) {
            std::signal(signal, handler);
        }
    }
    IgnoredSignals(const IgnoredSignals&) = delete;
    IgnoredSignals& operator=(const IgnoredSignals&) = delete;

private:
    std::vector<std::pair<int, void (*)(int)>> before_;
};

}  // namespace perfleet
