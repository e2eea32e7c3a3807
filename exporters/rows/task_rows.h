// Applies task rows to the state of tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exporters/rows/exported_images.h"
#include "exporters/rows/task_state.h"
#include "storage/block/block.h"
#include "storage/dictionary/epoch_dictionary.h"

namespace perfleet {

// Converts an epoch's numbers: image numbers of its dictionary → images of the export.
struct EpochImages {
    const EpochDictionary* dictionary = nullptr;
    std::vector<ExportedImage> images;
};

[[nodiscard]] EpochImages add_images(ExportedImages& images, const EpochDictionary& dictionary);

// Keeps several targets apart in one state: a target's pids start at pid_base, and its commands with name_prefix. pid
// -1 means all processes.
struct TaskRange {
    std::uint32_t pid_base = 0;
    std::string name_prefix;

    [[nodiscard]] std::uint32_t number(std::uint64_t pid) const {
        const auto narrow = static_cast<std::uint32_t>(pid);
        return narrow == ~0U ? narrow : narrow + pid_base;
    }
};

// False for rows that don't describe tasks or mappings: losses, throttling.
bool take_task_row(TaskState& tasks, const ExportedImages& images, const EpochImages& epoch, const DecodedRows& rows,
                   std::size_t row, const TaskRange& range = {});

}  // namespace perfleet
