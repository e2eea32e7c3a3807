// The memory that a collector shares with programs that have probes (probe/perfleet/probe.h): a file without a name, of
// fixed size. The collector's own is found by the programs that it starts in their environment; one that runs already
// makes its own, which the collector takes.
//
// A resource. The collector never trusts what stands there, and only grows what is touched: a thread's ring.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/probe/perfleet/probe.h"

namespace perfleet {

class ProbeArea {
public:
    // Errors: as errno says.
    [[nodiscard]] static Result<std::unique_ptr<ProbeArea>> create();
    // A process's, by its descriptor there. Errors: as errno says; kInvalid, where it isn't memory of this size that
    // nobody can shorten.
    [[nodiscard]] static Result<std::unique_ptr<ProbeArea>> take(std::uint32_t pid, int its_fd);
    ProbeArea(const ProbeArea&) = delete;
    ProbeArea& operator=(const ProbeArea&) = delete;
    ~ProbeArea();

    // For a program's environment: "PERFLEET_PROBES=/proc/PID/fd/FD".
    [[nodiscard]] std::string variable() const;
    // No other memory has it while this exists.
    [[nodiscard]] std::uint64_t inode() const { return inode_; }

    [[nodiscard]] perfleet_probe_area& head() const { return *head_; }
    [[nodiscard]] perfleet_probe_slot& slot(std::size_t index) const { return slots_[index]; }

private:
    ProbeArea() = default;
    [[nodiscard]] bool map();

    FileDescriptor fd_;
    std::uint64_t inode_ = 0;
    perfleet_probe_area* head_ = nullptr;
    perfleet_probe_slot* slots_ = nullptr;
};

}  // namespace perfleet
