// What the device tree that the loader has passed on says of a run, on boards that have one.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "target-collector/sel4/kernel/libsel4.h"
#include "target-collector/sel4/run/run_words.h"

namespace perfleet::sel4 {

// Stops where the boot information has none.
[[nodiscard]] std::span<const std::byte> find_device_tree(const seL4_BootInfo& info);
// As QEMU's -append says it. Stops at a word that isn't understood.
[[nodiscard]] RunWords run_words_of(std::span<const std::byte> tree);
// Random bytes that QEMU gives each run. None: there are none.
[[nodiscard]] SessionId session_of(std::span<const std::byte> tree);

}  // namespace perfleet::sel4
