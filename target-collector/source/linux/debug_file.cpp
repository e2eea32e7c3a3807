#include "target-collector/source/linux/debug_file.h"

#include <sys/stat.h>

#include <vector>

#include "target-collector/source/linux/small_file.h"

namespace perfleet {
namespace {

std::string hexadecimal(std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits{"0123456789abcdef"};
    std::string text;
    for (const std::byte byte : bytes) {
        text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
        text += kDigits[std::to_integer<unsigned>(byte) & 15U];
    }
    return text;
}

}  // namespace

int open_debug_file(const DebugFilePlace& place, const std::string& debug_folder) {
    constexpr std::size_t kFolderBytes = 1;  // of the build-id
    std::vector<std::string> paths;
    if (place.build_id.size() > kFolderBytes) {
        paths.push_back(debug_folder + "/.build-id/" + hexadecimal(place.build_id.first(kFolderBytes)) + "/" +
                        hexadecimal(place.build_id.subspan(kFolderBytes)) + ".debug");
    }
    if (!place.debug_link.empty() && place.debug_link.find('/') == std::string::npos) {
        const std::string folder = place.path.substr(0, place.path.rfind('/') + 1);
        paths.push_back(folder + place.debug_link);
        paths.push_back(folder + ".debug/" + place.debug_link);
        paths.push_back(debug_folder + folder + place.debug_link);
    }
    std::vector<std::string> roots;
    if (place.pid != 0) {
        roots.push_back("/proc/" + std::to_string(place.pid) + "/root");
    }
    roots.emplace_back();
    for (const std::string& root : roots) {
        for (const std::string& path : paths) {
            struct stat status {};
            if (const int fd = open_regular_file(root + path, status); fd >= 0) {
                return fd;
            }
        }
    }
    return -1;
}

}  // namespace perfleet
