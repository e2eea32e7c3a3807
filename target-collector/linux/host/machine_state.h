// Settings of this machine that affect measured times: governor, turbo, frequency, kernel, processor.
//
// Reads /sys and /proc; keeps nothing. Omits unknown settings.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace perfleet {

// Labels by name, ascending:
//   frequency_khz  of the CPUs now: "2400000", or the least and greatest "800000-2400000"
//   governor       of cpufreq: "performance", or each that a CPU has, "performance,powersave"
//   isolated_cpus  as the kernel lists them, "2-3"; absent when none is
//   kernel         its release
//   machine        the processor's name
//   smt, turbo     "on" or "off"
// `root` is prepended to /sys and /proc, for tests.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> machine_state(const std::string& root = "");

}  // namespace perfleet
