// The images (files with code) of a process, a program or the whole machine, in which functions are looked up.
//
// Reads /proc, or runs the program's own dynamic loader. What is read is untrusted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct FunctionImage {
    std::string path;                // a path that this process can open
    std::string name;                // for messages: last part of the path
    std::vector<std::string> names;  // further names of it
};

struct FunctionImages {
    std::string whose;  // "process 7", "the program ls", "this machine's processes"
    std::vector<FunctionImage> images;
};

// Errors: kNotFound (no such process; it has no code), kPermission.
[[nodiscard]] Result<FunctionImages> images_of_process(std::uint32_t pid);
[[nodiscard]] FunctionImages images_of_machine();
// The program and the libraries that its loader would load. `path`: the file. For a script: its interpreter.
[[nodiscard]] Result<FunctionImages> images_of_program(const std::string& path);

// The image with this name: a path, the name of a file, or of a library with or without "lib" and the part after ".so".
// Errors: kNotFound (the message lists images), kUsage (several files have this name).
[[nodiscard]] Result<FunctionImage> find_image(const FunctionImages& images, const std::string& name);

}  // namespace perfleet
