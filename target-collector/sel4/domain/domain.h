// The collector as a Microkit protection domain: it watches the threads of its child domains and its own, and streams
// to a gateway over a virtio port or a UART that the system description gives it.
//
// One thread: Microkit's loop, which calls turn() at each interrupt of the timer.
#pragma once

#include <array>
#include <cstdint>

#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/sel4/domain/domain_table.h"
#include "target-collector/sel4/domain/watched_domains.h"
#include "target-collector/sel4/kernel/aarch64/el0_alarm.h"
#include "target-collector/sel4/kernel/aarch64/pmu.h"
#include "target-collector/sel4/kernel/board_clock.h"
#include "target-collector/sel4/kernel/stock_kernel.h"
#include "target-collector/sel4/run/collector_run.h"
#include "target-collector/wire/zmtp_driver.h"

namespace perfleet::sel4 {

class Domain : NonCopyable {
public:
    // Borrows all but `seed`, which is that of the jitter. `keys`: of this target; null: none.
    Domain(const DomainTable& table, const BoardClock& clock, std::uint64_t seed, ByteStream& stream,
           ZmtpMechanism* keys = nullptr);

    void begin() { run_.begin(); }
    // False: its time is over, and it has sent Bye.
    [[nodiscard]] bool turn();

private:
    using Caps = std::array<StockKernel::ThreadCaps, WatchedDomains::kThreadsMax>;

    [[nodiscard]] static Caps find_caps(const DomainTable& table);
    [[nodiscard]] SmallTarget describe(const DomainTable& table, const BoardClock& clock, bool has_keys);
    void end();

    std::uint64_t run_seconds_;
    WatchedDomains watched_;
    Caps caps_;
    StockKernel kernel_;
    El0Alarm alarm_;
    PmuCounters counters_;
    PmuLabels pmu_labels_{describe_pmu()};
    Machine machine_;
    RunEvents events_;
    TickTimer timer_;
    RunRequests requests_;
    SmallTarget target_;
    ZmtpDriver driver_;
    SmallCollector collector_;
    CollectorRun run_;
};

}  // namespace perfleet::sel4
