// The clock of an exported file, in ns: that of the session that began first.
#pragma once

#include <cstdint>

#include "query-engine/scan/scan.h"

namespace perfleet {

// Borrows the scan.
class FileClock {
public:
    explicit FileClock(const Scan& scan) : scan_{scan} {
        for (std::size_t index = 1; index < scan.sessions().size(); ++index) {
            if (scan.sessions()[index].began() < first().began()) {
                first_index_ = index;
            }
        }
    }

    [[nodiscard]] const ScannedSession& first() const { return scan_.sessions()[first_index_]; }

    [[nodiscard]] std::uint64_t ns_of(std::size_t session_index, std::uint64_t ticks) const {
        if (session_index != first_index_) {
            ticks = first().clock.ticks_of(scan_.sessions()[session_index].clock.utc_of(Ticks{ticks})).value;
        }
        const std::uint64_t per_second = first().record.ticks_per_second;
        if (per_second == kNsPerSecond || per_second == 0) {
            return ticks;
        }
        using Wide = unsigned __int128;
        return static_cast<std::uint64_t>(Wide{ticks} * static_cast<std::uint64_t>(kNsPerSecond) / per_second);
    }

    [[nodiscard]] UtcNs utc_of_ns(std::uint64_t ns) const {
        const std::uint64_t per_second = first().record.ticks_per_second;
        if (per_second == kNsPerSecond || per_second == 0) {
            return first().clock.utc_of(Ticks{ns});
        }
        using Wide = unsigned __int128;
        return first().clock.utc_of(
            Ticks{static_cast<std::uint64_t>(Wide{ns} * per_second / static_cast<std::uint64_t>(kNsPerSecond))});
    }

private:
    const Scan& scan_;
    std::size_t first_index_ = 0;
};

}  // namespace perfleet
