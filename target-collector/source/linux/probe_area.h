// Memory that a collector shares with programs with probes (probe/perfleet/probe.h): an unnamed file of fixed size.
// Programs that the collector starts find its file through their environment; running programs create their own, which
// the collector opens.
//
// A resource. The collector never trusts its content. Only touched pages, such as a thread's ring, use memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/probe/perfleet/probe.h"

namespace perfleet {

class ProbeArea : NonCopyable {
public:
    // Errors: as errno says.
    [[nodiscard]] static Result<std::unique_ptr<ProbeArea>> create();
    // Opens a process's area, by its descriptor there. Errors: as errno says; kInvalid if it isn't memory of this size
    // that is sealed against shrinking.
    [[nodiscard]] static Result<std::unique_ptr<ProbeArea>> take(std::uint32_t pid, int its_fd);
    ~ProbeArea();

    // For a program's environment: "PERFLEET_PROBES=/proc/PID/fd/FD".
    [[nodiscard]] std::string variable() const;
    // Unique among areas while this exists.
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
