// The memory that a collector shares with programs that have probes (probe/perfleet/probe.h): a file without a name,
// of fixed size, which a program finds by its environment.
//
// A resource. The collector never trusts what stands there, and only grows what is touched: a thread's ring.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "target-collector/probe/perfleet/probe.h"

namespace perfleet {

class ProbeArea {
public:
    // Errors: as errno says.
    [[nodiscard]] static Result<std::unique_ptr<ProbeArea>> create();
    ProbeArea(const ProbeArea&) = delete;
    ProbeArea& operator=(const ProbeArea&) = delete;
    ~ProbeArea();

    // For a program's environment: "PERFLEET_PROBES=/proc/PID/fd/FD".
    [[nodiscard]] std::string variable() const;

    [[nodiscard]] perfleet_probe_area& head() const { return *head_; }
    [[nodiscard]] perfleet_probe_slot& slot(std::size_t index) const { return slots_[index]; }

private:
    ProbeArea() = default;

    int fd_ = -1;
    perfleet_probe_area* head_ = nullptr;
    perfleet_probe_slot* slots_ = nullptr;
};

}  // namespace perfleet
