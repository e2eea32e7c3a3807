#include "target-collector/pmu/pmu_description.h"

#include "target-collector/pmu/pmu.h"

namespace perfleet {
namespace {

constexpr std::uint32_t field(std::uint64_t value, unsigned first_bit, unsigned bit_count) {
    return static_cast<std::uint32_t>(value >> first_bit & ((1ULL << bit_count) - 1));
}

constexpr std::uint64_t first_bits(std::uint32_t count) { return count >= 64 ? ~0ULL : (1ULL << count) - 1; }

constexpr std::uint32_t bits_set(std::uint64_t mask) {
    std::uint32_t count = 0;
    for (; mask != 0; mask &= mask - 1) {
        ++count;
    }
    return count;
}

constexpr unsigned kFirstFixedBit = 32;  // of IA32_PERF_GLOBAL_CTRL

}  // namespace

PmuDescription pmu_of_intel(const CpuidRegisters& leaf_a) {
    const std::uint32_t version = field(leaf_a.eax, 0, 8);
    PmuDescription pmu;
    if (version == 0) {
        return pmu;
    }
    pmu.counter_count = field(leaf_a.eax, 8, 8);
    pmu.counter_bits = pmu.counter_count > 0 ? field(leaf_a.eax, 16, 8) : 0;
    pmu.counter_mask = first_bits(pmu.counter_count < kFirstFixedBit ? pmu.counter_count : kFirstFixedBit);
    // EDX has the number of consecutive counters from the first on, ECX a mask of further ones.
    std::uint64_t fixed = version >= 2 ? first_bits(field(leaf_a.edx, 0, 5)) : 0;
    fixed |= version >= 5 ? leaf_a.ecx : 0;
    pmu.fixed_count = bits_set(fixed);
    pmu.fixed_bits = pmu.fixed_count > 0 ? field(leaf_a.edx, 5, 8) : 0;
    pmu.fixed_mask = fixed << kFirstFixedBit;
    return pmu;
}

PmuDescription pmu_of_amd(const CpuidRegisters& leaf_8000_0001, const CpuidRegisters& leaf_8000_0022,
                          bool has_legacy_counters) {
    constexpr std::uint32_t kLegacyCounters = 4;
    constexpr std::uint32_t kExtendedCounters = 6;  // PerfCtrExtCore
    constexpr std::uint32_t kCounterBits = 48;
    PmuDescription pmu;
    if (field(leaf_8000_0022.eax, 0, 1) != 0) {  // PerfMonV2
        pmu.counter_count = field(leaf_8000_0022.ebx, 0, 4);
    } else if (field(leaf_8000_0001.ecx, 23, 1) != 0) {
        pmu.counter_count = kExtendedCounters;
    } else if (has_legacy_counters) {
        pmu.counter_count = kLegacyCounters;
    }
    pmu.counter_bits = pmu.counter_count > 0 ? kCounterBits : 0;
    pmu.counter_mask = first_bits(pmu.counter_count);
    return pmu;
}

PmuDescription pmu_of_cpuid(CpuidRegisters (*cpuid)(std::uint32_t leaf), bool has_legacy_counters) {
    constexpr std::uint32_t kPerfmonLeaf = 0xa;
    constexpr std::uint32_t kExtended = 0x8000'0000;
    constexpr std::uint32_t kFlagsLeaf = 0x8000'0001;
    constexpr std::uint32_t kPerfmonV2Leaf = 0x8000'0022;
    constexpr std::uint32_t kOfAmd = 0x6874'7541;    // "Auth", of AuthenticAMD
    constexpr std::uint32_t kOfHygon = 0x6f67'7948;  // "Hygo", of HygonGenuine
    const CpuidRegisters vendor = cpuid(0);
    if (vendor.ebx != kOfAmd && vendor.ebx != kOfHygon) {
        return vendor.eax >= kPerfmonLeaf ? pmu_of_intel(cpuid(kPerfmonLeaf)) : PmuDescription{};
    }
    const std::uint32_t last = cpuid(kExtended).eax;
    return pmu_of_amd(last >= kFlagsLeaf ? cpuid(kFlagsLeaf) : CpuidRegisters{},
                      last >= kPerfmonV2Leaf ? cpuid(kPerfmonV2Leaf) : CpuidRegisters{}, has_legacy_counters);
}

ArmPmuVersion pmu_version_of_aa64dfr0(std::uint64_t id_aa64dfr0) {
    switch (field(id_aa64dfr0, 8, 4)) {
        case 0:
        case 0xf: return ArmPmuVersion::kNone;
        case 1:
        case 2:
        case 3: return ArmPmuVersion::kV3;
        case 4: return ArmPmuVersion::kV3p1;
        case 5: return ArmPmuVersion::kV3p4;
        case 6: return ArmPmuVersion::kV3p5;
        case 7: return ArmPmuVersion::kV3p7;
        case 8: return ArmPmuVersion::kV3p8;
        default: return ArmPmuVersion::kV3p9;
    }
}

PmuDescription pmu_of_pmcr(std::uint64_t pmcr, ArmPmuVersion version) {
    using namespace bare_metal::pmu;
    PmuDescription pmu;
    if (version == ArmPmuVersion::kNone) {
        return pmu;
    }
    const bool is_long = version >= ArmPmuVersion::kV3p5 || (pmcr & kLongCounters) != 0;
    const std::uint64_t count = counter_count(pmcr);
    pmu.counter_count = static_cast<std::uint32_t>(count);
    pmu.counter_bits = count == 0 ? 0 : version >= ArmPmuVersion::kV3 && is_long ? 64 : 32;
    pmu.counter_mask = counter_bits(count);
    pmu.fixed_count = 1;
    pmu.fixed_bits = version >= ArmPmuVersion::kV3 ? 64 : 32;
    pmu.fixed_mask = kCycleCounter;
    return pmu;
}

PmuLabels::PmuLabels(const PmuDescription& pmu) {
    if (!pmu.is_there()) {
        labels_[count_++] = {"pmu", "none"};
        return;
    }
    add("pmu_counters", pmu.counter_count, 10);
    if (pmu.counter_count > 0) {
        add("pmu_counter_bits", pmu.counter_bits, 10);
    }
    add("pmu_fixed", pmu.fixed_count, 10);
    if (pmu.fixed_count > 0) {
        add("pmu_fixed_bits", pmu.fixed_bits, 10);
        add("pmu_fixed_mask", pmu.fixed_mask, 16);
    }
    add("pmu_mask", pmu.counter_mask | pmu.fixed_mask, 16);
}

void PmuLabels::add(std::string_view key, std::uint64_t number, std::uint64_t base) {
    std::array<char, kDigitsMax>& digits = digits_[count_];
    std::size_t at = digits.size();
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    if (base == 16) {
        digits[--at] = 'x';
        digits[--at] = '0';
    }
    labels_[count_++] = {key, {digits.data() + at, digits.size() - at}};
}

}  // namespace perfleet
