#include "target-collector/source/linux/image/debug_file.h"

#include <sys/stat.h>

#include <vector>

#include "schemas/text/hex.h"
#include "target-collector/process/small_file.h"

namespace perfleet {

FileDescriptor open_debug_file(const DebugFilePlace& place, const std::string& debug_folder) {
    constexpr std::size_t kFolderDigits = 2;  // digits of the build-id
    std::vector<std::string> paths;
    const std::string id = hex_of({reinterpret_cast<const char*>(place.build_id.data()), place.build_id.size()});
    if (id.size() > kFolderDigits) {
        paths.push_back(debug_folder + "/.build-id/" + id.substr(0, kFolderDigits) + "/" + id.substr(kFolderDigits) +
                        ".debug");
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
            if (FileDescriptor fd = open_regular_file(root + path, status)) {
                return fd;
            }
        }
    }
    return FileDescriptor{};
}

}  // namespace perfleet
