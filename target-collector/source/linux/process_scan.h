// Reads running processes, with their threads, names and mappings, from /proc into the table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "target-collector/process/image_finder.h"
#include "target-collector/process/process_table.h"

namespace perfleet {

struct ProcessScan {
    ImageFinder& finder;
    ImageIndex unknown_image = 0;              // for mappings whose image is unavailable
    std::optional<std::uint32_t> skipped_pid;  // this process

    // Reads these processes.
    void read(std::span<const std::uint32_t> pids, ProcessTable& into) const;
    // Reads all processes of the machine.
    void read_all(ProcessTable& into) const;
};

}  // namespace perfleet
