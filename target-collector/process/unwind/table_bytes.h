// An unwind table as bytes: passed on by the process that reads untrusted files, and cached on disk.
//
//   magic u32 | version u32 | machine u32 | rule_count u32 | row_count u64 | refused_count u64
//   rules    cfa_base u8 | return_address u8 | frame_pointer u8 | is_signal_frame u8 | rbx u8 | 0 0 0
//            cfa_offset i32 | cfa_addend i32 | return_address_offset i32 | frame_pointer_offset i32 | rbx_offset i32
//   places   u32 of each row, ascending
//   indices  u16 of each row: its rule
//
// Little-endian. The numbers of UnwindMachine, CfaBase and SavedAt are part of the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "target-collector/process/unwind/unwind_table.h"

namespace perfleet {

inline constexpr std::uint32_t kUnwindTableVersion = 1;
inline constexpr std::size_t kUnwindTableHeaderBytes = 32;
inline constexpr std::size_t kUnwindRuleBytes = 28;
inline constexpr std::size_t kUnwindRowBytes = 6;
inline constexpr std::size_t kUnwindTableBytesMax =
    kUnwindTableHeaderBytes + (kUnwindRuleBytes * kUnwindRulesMax) + (kUnwindRowBytes * kUnwindRowsMax);

[[nodiscard]] std::string unwind_table_bytes(const UnwindTable& table);

// The bytes are untrusted. Errors: kUnsupported (another version), kCorrupt.
[[nodiscard]] Result<UnwindTable> unwind_table_of_bytes(std::span<const std::byte> bytes);

}  // namespace perfleet
