#include "tests/benchmark/crowd/figures.h"

#include <sys/resource.h>

#include <cmath>
#include <initializer_list>
#include <utility>

namespace perfleet {

void Spread::add(std::uint64_t value) { ++counts_[static_cast<int>(std::log2(static_cast<double>(value) + 1) * 16)]; }

std::string Spread::json() const {
    std::string text = "{";
    for (const auto& [step, count] : counts_) {
        text += (text.size() > 1 ? "," : "") + ("\"" + std::to_string(step) + "\":" + std::to_string(count));
    }
    return text + "}";
}

std::string CrowdFigures::json() const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    std::string text = "{";
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::uint64_t>>{
             {"targets", target_count},
             {"welcomed", welcomed},
             {"finished", finished},
             {"batches_sealed", batches_sealed},
             {"batches_acknowledged", batches_acknowledged},
             {"batches_resent", batches_resent},
             {"bytes_sent", bytes_sent},
             {"sends_failed", sends_failed},
             {"refused", refused},
             {"hello_again", hello_again},
             {"connections_lost", connections_lost},
             {"handshakes_failed", handshakes_failed},
             {"peer_silent", peer_silent},
             {"kept_max", kept_max},
         }) {
        text += "\"" + std::string{name} + "\":" + std::to_string(value) + ",";
    }
    return text + "\"late_seconds_max\":" + std::to_string(static_cast<double>(late_ns_max) * 1e-9) +
           ",\"seconds\":" + std::to_string(static_cast<double>(duration_ns) * 1e-9) +
           ",\"cpu_seconds\":" + std::to_string(seconds(usage.ru_utime) + seconds(usage.ru_stime)) +
           ",\"latency_us_log2_16ths\":" + latency_us.json() + "}";
}

}  // namespace perfleet
