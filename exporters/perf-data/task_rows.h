// What task rows mean for the state of tasks.
#pragma once

#include <cstddef>
#include <vector>

#include "exporters/perf-data/exported_images.h"
#include "exporters/perf-data/task_state.h"
#include "storage/block/block.h"
#include "storage/dictionary/epoch_dictionary.h"

namespace perfleet {

// What an epoch's numbers mean: image numbers of its dictionary → images of the export.
struct EpochImages {
    const EpochDictionary* dictionary = nullptr;
    std::vector<ExportedImage> images;
};

[[nodiscard]] EpochImages add_images(ExportedImages& images, const EpochDictionary& dictionary);

// False for rows that aren't about tasks and mappings: losses, throttling.
bool take_task_row(TaskState& tasks, const ExportedImages& images, const EpochImages& epoch, const DecodedRows& rows,
                   std::size_t row);

}  // namespace perfleet
