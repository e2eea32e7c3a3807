// The counters of this processor, as labels.
//
// For x86-64 from CPUID; on hybrid processors that describes the current core's type. For others from /sys, where Linux
// gives little more than a PMU's name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "target-collector/pmu/pmu_description.h"

namespace perfleet {

using CpuidFunction = CpuidRegisters (*)(std::uint32_t leaf);

// This processor's CPUID; null if it isn't x86-64.
[[nodiscard]] CpuidFunction own_cpuid();

// Labels by name, ascending: those of PmuLabels (pmu/pmu_description.h), or without CPUID:
//   pmu       the PMUs of its CPUs, separated by commas, or "none"
//   pmu_NAME  the content of the first one's file caps/NAME
// `root` is prepended to /sys, for tests.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> processor_pmu(const std::string& root = "",
                                                                             CpuidFunction cpuid = own_cpuid());

}  // namespace perfleet
