// Describes a processor's performance monitoring unit from the values of its registers, also as labels of a target.
//
// Freestanding; pure functions, no register is touched. Sources: Intel SDM vol. 3, 20.2 (architectural performance
// monitoring); AMD64 APM vol. 3, E.4 (CPUID 0x8000'0001, 0x8000'0022); Arm ARM D13 (PMUv3) and its predecessor's C12.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/message/hello.h"

namespace perfleet {

// Masks: a bit for each counter, where the register that switches counters on has it: PMCNTENSET,
// IA32_PERF_GLOBAL_CTRL.
struct PmuDescription {
    std::uint32_t counter_count = 0;  // that can be given an event
    std::uint32_t counter_bits = 0;
    std::uint64_t counter_mask = 0;
    std::uint32_t fixed_count = 0;  // that count one fixed event: cycles, instructions
    std::uint32_t fixed_bits = 0;
    std::uint64_t fixed_mask = 0;

    [[nodiscard]] constexpr bool is_there() const { return counter_count + fixed_count > 0; }
    friend constexpr bool operator==(const PmuDescription&, const PmuDescription&) = default;
};

struct CpuidRegisters {
    std::uint32_t eax = 0;
    std::uint32_t ebx = 0;
    std::uint32_t ecx = 0;
    std::uint32_t edx = 0;
};

// From leaf 0xA, versions 1 to 5 and later. Of a processor without that leaf: all zeros.
[[nodiscard]] PmuDescription pmu_of_intel(const CpuidRegisters& leaf_a);

// From leaves 0x8000'0001 and 0x8000'0022 (zeros where there is none): the counters of cores. `has_legacy_counters`:
// the processor has the four counters of processors without those flags, which CPUID doesn't report.
[[nodiscard]] PmuDescription pmu_of_amd(const CpuidRegisters& leaf_8000_0001, const CpuidRegisters& leaf_8000_0022,
                                        bool has_legacy_counters);

// From CPUID, for x86-64 processors of any vendor. `cpuid`: gives the registers of a leaf, subleaf 0.
[[nodiscard]] PmuDescription pmu_of_cpuid(CpuidRegisters (*cpuid)(std::uint32_t leaf), bool has_legacy_counters);

// Ascending.
enum class ArmPmuVersion : std::uint8_t { kNone, kV1, kV2, kV3, kV3p1, kV3p4, kV3p5, kV3p7, kV3p8, kV3p9 };

// From ID_AA64DFR0_EL1. None where the PMU isn't Arm's. A version newer than this table counts as its last line.
[[nodiscard]] ArmPmuVersion pmu_version_of_aa64dfr0(std::uint64_t id_aa64dfr0);

// From PMCR. From PMUv3p5 on event counters have 64 bits. Where the version can't be read (EL0), its bit LP, which is 0
// in all earlier versions, shows the same for counters that are used so.
[[nodiscard]] PmuDescription pmu_of_pmcr(std::uint64_t pmcr, ArmPmuVersion version);

// pmu_counters, pmu_counter_bits, pmu_fixed, pmu_fixed_bits: numbers; pmu_mask (of all counters), pmu_fixed_mask: in
// hexadecimal digits. Of counters that the processor lacks, only the number 0 is a label; without any counters:
// pmu="none". Labels are as long as this object.
class PmuLabels : NonCopyable {
public:
    static constexpr std::size_t kLabelsMax = 6;

    explicit PmuLabels(const PmuDescription& pmu);

    [[nodiscard]] std::span<const LabelDescription> labels() const { return std::span{labels_}.first(count_); }

private:
    static constexpr std::size_t kDigitsMax = 20;

    void add(std::string_view key, std::uint64_t number, std::uint64_t base);

    std::array<LabelDescription, kLabelsMax> labels_{};
    std::array<std::array<char, kDigitsMax>, kLabelsMax> digits_{};
    std::size_t count_ = 0;
};

}  // namespace perfleet
