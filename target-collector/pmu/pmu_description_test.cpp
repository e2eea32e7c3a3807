#include "target-collector/pmu/pmu_description.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace perfleet::pmu_description_test {
namespace {

using Version = ArmPmuVersion;

PmuDescription described(std::uint32_t counters, std::uint32_t bits, std::uint64_t mask, std::uint32_t fixed,
                         std::uint32_t fixed_bits, std::uint64_t fixed_mask) {
    return {counters, bits, mask, fixed, fixed_bits, fixed_mask};
}

struct ArmCase {
    const char* name;
    std::uint64_t pmcr;
    Version version;
    PmuDescription expected;
};

TEST(PmuDescription, OfArmIsReadFromPmcr) {
    const std::vector<ArmCase> cases{
        {"Cortex-A15", 0x410f'3000, Version::kV2, described(6, 32, 0x3f, 1, 32, 0x8000'0000)},
        {"Cortex-A53", 0x4103'3000, Version::kV3, described(6, 32, 0x3f, 1, 64, 0x8000'0000)},
        {"Cortex-A57", 0x4101'3000, Version::kV3, described(6, 32, 0x3f, 1, 64, 0x8000'0000)},
        {"QEMU's Cortex-A57, switched on", 0x4101'3041, Version::kV3, described(6, 32, 0x3f, 1, 64, 0x8000'0000)},
        {"cycles alone", 0x4100'0000, Version::kV3, described(0, 0, 0, 1, 64, 0x8000'0000)},
        {"as many as may be", 0x4100'f800, Version::kV3p1, described(31, 32, 0x7fff'ffff, 1, 64, 0x8000'0000)},
        {"long counters", 0x4100'3000, Version::kV3p5, described(6, 64, 0x3f, 1, 64, 0x8000'0000)},
        {"long counters that only LP tells", 0x4100'3080, Version::kV3, described(6, 64, 0x3f, 1, 64, 0x8000'0000)},
        {"before there were long ones", 0x4100'3080, Version::kV2, described(6, 32, 0x3f, 1, 32, 0x8000'0000)},
        {"none", 0x410f'3000, Version::kNone, {}},
    };
    for (const ArmCase& one : cases) {
        EXPECT_EQ(pmu_of_pmcr(one.pmcr, one.version), one.expected) << one.name;
    }
}

// All lines of the manual's tables, and what it doesn't name.
TEST(PmuDescription, OfArmHasTheVersionOfItsIdRegister) {
    const std::vector<std::pair<std::uint64_t, Version>> wide{
        {0, Version::kNone}, {1, Version::kV3},   {4, Version::kV3p1}, {5, Version::kV3p4},  {6, Version::kV3p5},
        {7, Version::kV3p7}, {8, Version::kV3p8}, {9, Version::kV3p9}, {10, Version::kV3p9}, {15, Version::kNone}};
    for (const auto& [value, version] : wide) {
        EXPECT_EQ(pmu_version_of_aa64dfr0(0x1030'5006 | value << 8), version) << value;
    }
}

TEST(PmuDescription, OfIntelIsReadFromLeafA) {
    struct Case {
        const char* name;
        CpuidRegisters leaf;
        PmuDescription expected;
    };
    const std::vector<Case> cases{
        {"version 1: nothing fixed", {0x0728'0201, 0, 0, 0x0000'0603}, described(2, 40, 0x3, 0, 0, 0)},
        {"version 2", {0x0728'0202, 0, 0, 0x0000'0503}, described(2, 40, 0x3, 3, 40, 0x7'0000'0000)},
        {"version 3: Skylake, both threads",
         {0x0730'0403, 0, 0, 0x0000'0603},
         described(4, 48, 0xf, 3, 48, 0x7'0000'0000)},
        {"version 4: eight without threads",
         {0x0730'0804, 0, 0, 0x0000'0603},
         described(8, 48, 0xff, 3, 48, 0x7'0000'0000)},
        {"version 5: Ice Lake", {0x0830'0805, 0, 0xf, 0x0000'8604}, described(8, 48, 0xff, 4, 48, 0xf'0000'0000)},
        {"version 5: told by the mask alone",
         {0x0830'0605, 0, 0x5, 0x0000'8600},
         described(6, 48, 0x3f, 2, 48, 0x5'0000'0000)},
        {"before version 5 that register means nothing",
         {0x0730'0404, 0, 0xff, 0x0000'0603},
         described(4, 48, 0xf, 3, 48, 0x7'0000'0000)},
        {"a machine that hides it", {0, 0, 0, 0}, {}},
        {"no version, whatever else", {0x0730'0400, 0, 0, 0x0000'0603}, {}},
    };
    for (const Case& one : cases) {
        EXPECT_EQ(pmu_of_intel(one.leaf), one.expected) << one.name;
    }
}

TEST(PmuDescription, OfAmdIsReadFromItsFlags) {
    const CpuidRegisters extended{0, 0, 1U << 23, 0};
    const CpuidRegisters v2{1, 0x0000'0006, 0, 0};
    const CpuidRegisters v2_of_eight{1, 0x0004'0108, 0, 0};
    EXPECT_EQ(pmu_of_amd(extended, {}, true), described(6, 48, 0x3f, 0, 0, 0));
    EXPECT_EQ(pmu_of_amd(extended, v2, true), described(6, 48, 0x3f, 0, 0, 0));
    EXPECT_EQ(pmu_of_amd({}, v2_of_eight, false), described(8, 48, 0xff, 0, 0, 0));
    EXPECT_EQ(pmu_of_amd({}, {}, true), described(4, 48, 0xf, 0, 0, 0));
    EXPECT_EQ(pmu_of_amd({}, {}, false), PmuDescription{});
}

// A processor of Intel's whose last leaf is 0xA, and has one of AMD's behind it.
CpuidRegisters cpuid_of_intel(std::uint32_t leaf) {
    return leaf == 0             ? CpuidRegisters{0xa, 0x756e'6547, 0x6c65'746e, 0x4965'6e69}
           : leaf == 0xa         ? CpuidRegisters{0x0730'0403, 0, 0, 0x0000'0603}
           : leaf == 0x8000'0000 ? CpuidRegisters{0x8000'0022, 0, 0, 0}
                                 : CpuidRegisters{~0U, ~0U, ~0U, ~0U};
}
CpuidRegisters cpuid_of_old_intel(std::uint32_t leaf) {
    return leaf == 0 ? CpuidRegisters{0x5, 0x756e'6547, 0, 0} : CpuidRegisters{~0U, ~0U, ~0U, ~0U};
}
CpuidRegisters cpuid_of_amd(std::uint32_t leaf) {
    return leaf == 0             ? CpuidRegisters{0xa, 0x6874'7541, 0x444d'4163, 0x6974'6e65}
           : leaf == 0x8000'0000 ? CpuidRegisters{0x8000'0022, 0, 0, 0}
           : leaf == 0x8000'0001 ? CpuidRegisters{0, 0, 1U << 23, 0}
           : leaf == 0x8000'0022 ? CpuidRegisters{1, 6, 0, 0}
                                 : CpuidRegisters{~0U, ~0U, ~0U, ~0U};
}
CpuidRegisters cpuid_of_amd_before_v2(std::uint32_t leaf) {
    return leaf == 0x8000'0000   ? CpuidRegisters{0x8000'001f, 0, 0, 0}
           : leaf == 0x8000'0022 ? CpuidRegisters{1, 15, 0, 0}
                                 : cpuid_of_amd(leaf);
}

TEST(PmuDescription, OfCpuidAsksTheLeavesOfWhoMadeTheProcessor) {
    EXPECT_EQ(pmu_of_cpuid(cpuid_of_intel, false), described(4, 48, 0xf, 3, 48, 0x7'0000'0000));
    EXPECT_EQ(pmu_of_cpuid(cpuid_of_old_intel, true), PmuDescription{});
    EXPECT_EQ(pmu_of_cpuid(cpuid_of_amd, false), described(6, 48, 0x3f, 0, 0, 0));
    EXPECT_EQ(pmu_of_cpuid(cpuid_of_amd_before_v2, false), described(6, 48, 0x3f, 0, 0, 0));
}

std::string text_of(const PmuDescription& pmu) {
    const PmuLabels labels{pmu};
    std::string text;
    for (const LabelDescription& label : labels.labels()) {
        text += std::string(text.empty() ? "" : " ") + std::string(label.key) + "=" + std::string(label.value);
    }
    return text;
}

TEST(PmuLabels, TellCountersWidthsAndMasks) {
    EXPECT_EQ(text_of(pmu_of_pmcr(0x410f'3000, Version::kV2)),
              "pmu_counters=6 pmu_counter_bits=32 pmu_fixed=1 pmu_fixed_bits=32 pmu_fixed_mask=0x80000000 "
              "pmu_mask=0x8000003f");
    EXPECT_EQ(text_of(pmu_of_intel({0x0730'0403, 0, 0, 0x0000'0603})),
              "pmu_counters=4 pmu_counter_bits=48 pmu_fixed=3 pmu_fixed_bits=48 pmu_fixed_mask=0x700000000 "
              "pmu_mask=0x70000000f");
    EXPECT_EQ(text_of(pmu_of_pmcr(0, Version::kV3)),
              "pmu_counters=0 pmu_fixed=1 pmu_fixed_bits=64 pmu_fixed_mask=0x80000000 pmu_mask=0x80000000");
    EXPECT_EQ(text_of(pmu_of_amd({0, 0, 1U << 23, 0}, {}, false)),
              "pmu_counters=6 pmu_counter_bits=48 pmu_fixed=0 pmu_mask=0x3f");
    EXPECT_EQ(text_of({}), "pmu=none");
    EXPECT_EQ(text_of({~0U, 64, ~0ULL, ~0U, 64, ~0ULL}),
              "pmu_counters=4294967295 pmu_counter_bits=64 pmu_fixed=4294967295 pmu_fixed_bits=64 "
              "pmu_fixed_mask=0xffffffffffffffff pmu_mask=0xffffffffffffffff");
}

}  // namespace
}  // namespace perfleet::pmu_description_test
