// The figures of a run, as one JSON object.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace perfleet {

// Counts of values over some decades: each step is a 16th of a power of two, 4 % wide.
class Spread {
public:
    void add(std::uint64_t value);
    [[nodiscard]] std::string json() const;

private:
    std::map<int, std::uint64_t> counts_;
};

struct CrowdFigures {
    std::uint64_t target_count = 0;
    std::uint64_t welcomed = 0;  // targets
    std::uint64_t finished = 0;
    std::uint64_t batches_sealed = 0;
    std::uint64_t batches_acknowledged = 0;
    std::uint64_t batches_resent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t sends_failed = 0;
    std::uint64_t refused = 0;
    std::uint64_t hello_again = 0;       // times that the gateway requested it
    std::uint64_t connections_lost = 0;  // after they were ready
    std::uint64_t handshakes_failed = 0;
    std::uint64_t peer_silent = 0;  // connections closed because a PING had no answer
    std::uint64_t kept_max = 0;     // unacknowledged batches of one target
    std::uint64_t late_ns_max = 0;  // delay of a target's turn
    std::uint64_t duration_ns = 0;
    Spread latency_us;  // from sealed to acknowledged

    // With the CPU time of this process so far.
    [[nodiscard]] std::string json() const;
};

}  // namespace perfleet
