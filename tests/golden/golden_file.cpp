#include "tests/golden/golden_file.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace perfleet {

std::string golden_path(std::string_view name) {
    return std::string{PERFLEET_SOURCE_DIR "/tests/golden/"}.append(name);
}

std::string golden_file(std::string_view name) {
    const std::string path = golden_path(name);
    std::ifstream file{path, std::ios::binary};
    if (!file) {
        throw std::runtime_error{path + ": can't be read"};
    }
    return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace perfleet
