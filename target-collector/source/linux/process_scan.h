// Reads the processes that run now, with their threads, names and mappings, from /proc into the table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "target-collector/process/image_finder.h"
#include "target-collector/process/process_table.h"

namespace perfleet {

struct ProcessScan {
    ImageFinder& finder;
    ImageIndex unknown_image = 0;              // of mappings whose image can't be had
    std::optional<std::uint32_t> skipped_pid;  // ourselves

    // These processes.
    void read(std::span<const std::uint32_t> pids, ProcessTable& into) const;
    // All of the machine.
    void read_all(ProcessTable& into) const;
};

}  // namespace perfleet
