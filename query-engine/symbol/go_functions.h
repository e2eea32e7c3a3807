// The functions of a Go program from its section .gopclntab, which stripped programs keep because the runtime needs it.
// Go 1.18 and later, 64 bits:
//
//   magic u32 | 0 0 | u8 | bytes of an address u8 | functions u64 | files u64 | address of the text u64
//   offsets u64: of names | of units | of files | of tables | of functions
//   functions  entry u32 (from the text's address), place of its record u32 (from here); at the end an entry more
//   record     entry u32 | place of its name i32 …
//   names      each with a NUL
//
// Everything in it is untrusted.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace perfleet {

struct GoFunction {
    std::uint64_t address = 0;  // as linked
    std::uint64_t end = 0;
    std::string_view name;  // borrowed from the section
};

// Ascending, none empty. Empty for other formats, or if the section doesn't give the text's address (some relocatable
// programs have it relocated at load time). The list ends at the first malformed entry.
[[nodiscard]] std::vector<GoFunction> go_functions(std::string_view section);

}  // namespace perfleet
