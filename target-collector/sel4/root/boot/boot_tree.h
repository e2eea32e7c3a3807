// A run's options in the device tree that the loader passes on, on boards that have one.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "target-collector/sel4/kernel/libsel4.h"
#include "target-collector/sel4/run/run_words.h"

namespace perfleet::sel4 {

// Stops if the boot information has none.
[[nodiscard]] std::span<const std::byte> find_device_tree(const seL4_BootInfo& info);
// From QEMU's -append. Stops at an unknown word.
[[nodiscard]] RunWords run_words_of(std::span<const std::byte> tree);
// Random bytes that QEMU gives each run; none if it gives none.
[[nodiscard]] SessionId session_of(std::span<const std::byte> tree);

}  // namespace perfleet::sel4
