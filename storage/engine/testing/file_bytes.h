// Bytes of files that tests damage.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace perfleet {

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream file{path, std::ios::binary};
    file << bytes;
}

}  // namespace perfleet
