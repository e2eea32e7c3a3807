// Finds the separate debug file of a stripped program in the usual folders, as seen by the process that runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "schemas/host/file_descriptor.h"

namespace perfleet {

struct DebugFilePlace {
    std::uint32_t pid = 0;  // its root is searched first; 0 or an ended process: none
    std::string path;       // of the program
    std::span<const std::byte> build_id;
    std::string debug_link;  // the program's .gnu_debuglink; empty: none
};

// Opens it by the program's build-id below `debug_folder`, or by its debug link: beside the program, in .debug there,
// or below `debug_folder`. Empty: none. The caller must check the file's build-id.
[[nodiscard]] FileDescriptor open_debug_file(const DebugFilePlace& place,
                                             const std::string& debug_folder = "/usr/lib/debug");

}  // namespace perfleet
