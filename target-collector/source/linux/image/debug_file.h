// The separate debug file of a stripped program: where distributions put it, seen from the process that runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "schemas/host/file_descriptor.h"

namespace perfleet {

struct DebugFilePlace {
    std::uint32_t pid = 0;  // below whose root it is looked for first; 0, or one that is gone: nobody's
    std::string path;       // of the program
    std::span<const std::byte> build_id;
    std::string debug_link;  // what the program's .gnu_debuglink says; empty: nothing
};

// Opens it by the program's build-id below `debug_folder`, or by its debug link: beside the program, in .debug there,
// or below `debug_folder`. Empty: there is none. Whether a file is of this program its build-id says.
[[nodiscard]] FileDescriptor open_debug_file(const DebugFilePlace& place,
                                             const std::string& debug_folder = "/usr/lib/debug");

}  // namespace perfleet
