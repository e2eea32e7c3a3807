// What this processor can count, as labels.
//
// Of an x86-64 processor from CPUID, which on one with cores of two kinds speaks of the core that this runs on. Of
// others from /sys, where Linux tells of a PMU its name and little else.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "target-collector/pmu/pmu_description.h"

namespace perfleet {

using CpuidFunction = CpuidRegisters (*)(std::uint32_t leaf);

// This processor's; null where it isn't x86-64.
[[nodiscard]] CpuidFunction own_cpuid();

// Labels by name, ascending: those of PmuLabels (pmu/pmu_description.h), or, where there is no CPUID:
//   pmu       the PMUs of its CPUs, with commas between, or "none"
//   pmu_NAME  what stands in the file caps/NAME of the first of them
// `root` stands before /sys: tests make their own.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> processor_pmu(const std::string& root = "",
                                                                             CpuidFunction cpuid = own_cpuid());

}  // namespace perfleet
