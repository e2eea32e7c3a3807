// libsel4's calls for frames, with one name on all architectures.
#pragma once

#include <cstdint>
#include <optional>

#include "target-collector/sel4/kernel/libsel4.h"

namespace perfleet::sel4 {

#if defined(__aarch64__)
#define PERFLEET_SEL4_NAME(name) seL4_ARM_##name
inline constexpr seL4_Word kSmallPage = seL4_ARM_SmallPageObject;
inline constexpr seL4_Word kLargePage = seL4_ARM_LargePageObject;
inline constexpr unsigned kExecuteNever = seL4_ARM_ExecuteNever;
inline constexpr unsigned kUncached = seL4_ARM_ExecuteNever;
#elif defined(__x86_64__)
#define PERFLEET_SEL4_NAME(name) seL4_X86_##name
inline constexpr seL4_Word kSmallPage = seL4_X86_4K;
inline constexpr seL4_Word kLargePage = seL4_X86_LargePageObject;
inline constexpr unsigned kExecuteNever = 0;  // seL4 has no such attribute there
inline constexpr unsigned kUncached = seL4_X86_CacheDisabled;
#elif defined(__riscv)
#define PERFLEET_SEL4_NAME(name) seL4_RISCV_##name
inline constexpr seL4_Word kSmallPage = seL4_RISCV_4K_Page;
inline constexpr seL4_Word kLargePage = seL4_RISCV_Mega_Page;
inline constexpr unsigned kExecuteNever = seL4_RISCV_ExecuteNever;
inline constexpr unsigned kUncached = seL4_RISCV_ExecuteNever;
#endif
inline constexpr unsigned kCachedCode = static_cast<unsigned>(PERFLEET_SEL4_NAME(Default_VMAttributes));
inline constexpr unsigned kCachedData = kCachedCode | kExecuteNever;

[[nodiscard]] inline seL4_Error map_page(seL4_CPtr frame, seL4_CPtr vspace, std::uint64_t address,
                                         seL4_CapRights_t rights, unsigned attributes) {
    return static_cast<seL4_Error>(PERFLEET_SEL4_NAME(Page_Map)(
        frame, vspace, address, rights, static_cast<PERFLEET_SEL4_NAME(VMAttributes)>(attributes)));
}
inline void unmap_page(seL4_CPtr frame) { (void)PERFLEET_SEL4_NAME(Page_Unmap)(frame); }
// Nothing: the capability isn't a frame's.
[[nodiscard]] inline std::optional<std::uint64_t> physical_address_of(seL4_CPtr frame) {
    const auto found = PERFLEET_SEL4_NAME(Page_GetAddress)(frame);
    return found.error == seL4_NoError ? std::optional{std::uint64_t{found.paddr}} : std::nullopt;
}
#undef PERFLEET_SEL4_NAME

}  // namespace perfleet::sel4
