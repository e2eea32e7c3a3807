// The files of code that a process, a program to be started or the whole machine has: where functions are looked up.
//
// Reads /proc, or asks the program's own dynamic loader. What is read is untrusted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct FunctionImage {
    std::string path;                // as this process can open it
    std::string name;                // for people: its last part
    std::vector<std::string> names;  // other ones it is known by
};

struct FunctionImages {
    std::string whose;  // "process 7", "the program ls", "this machine's processes"
    std::vector<FunctionImage> images;
};

// Errors: kNotFound (no such process; it has no code), kPermission.
[[nodiscard]] Result<FunctionImages> images_of_process(std::uint32_t pid);
[[nodiscard]] FunctionImages images_of_machine();
// The program and the libraries that its loader will take. `path`: the file. A script is what runs it.
[[nodiscard]] Result<FunctionImages> images_of_program(const std::string& path);

// The image of this name: a path, the name of a file, or of a library with or without "lib" and what follows ".so".
// Errors: kNotFound (names what there is), kUsage (several files have this name).
[[nodiscard]] Result<FunctionImage> find_image(const FunctionImages& images, const std::string& name);

}  // namespace perfleet
