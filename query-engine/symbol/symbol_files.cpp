#include "query-engine/symbol/symbol_files.h"

#include "schemas/text/hex.h"

namespace perfleet {
namespace {

const std::string& path_of(const ImageDefinition& image) { return image.file.empty() ? image.name : image.file; }

}  // namespace

std::string_view build_id_of(const ImageDefinition& image) {
    return (image.flags & image_flags::kContentHash) != 0 ? std::string_view{} : std::string_view{image.build_id};
}

std::string own_file_of(const ImageDefinition& image, const SymbolPaths& paths) {
    const std::string& path = path_of(image);
    return path.starts_with('/') ? paths.symfs + path : std::string{};
}

std::vector<std::string> symbol_files_of(const ImageDefinition& image, const SymbolPaths& paths) {
    std::vector<std::string> files;
    const std::string id = hex_of(build_id_of(image));
    const std::string own_file = own_file_of(image, paths);
    if (id.size() > 2) {
        const std::string place = "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2);
        if (!paths.build_id_cache.empty()) {
            files.push_back(paths.build_id_cache + place + "/elf");
        }
        for (const std::string& folder : paths.debug_folders) {
            if (!own_file.empty()) {
                files.push_back(folder + path_of(image) + ".debug");
                files.push_back(folder + path_of(image));
            }
            files.push_back(folder + place + ".debug");
        }
    }
    if (!own_file.empty()) {
        files.push_back(own_file);
    }
    return files;
}

std::vector<std::string> linked_debug_files_of(const ElfFile& own_file, const ImageDefinition& image,
                                               const SymbolPaths& paths) {
    const auto section = own_file.find_section(".gnu_debuglink");
    if (!section || build_id_of(image).empty()) {
        return {};
    }
    const std::string_view bytes = own_file.section_bytes(*section);
    const std::string name{bytes.substr(0, bytes.find('\0'))};
    if (name.empty() || name.find('/') != std::string::npos) {
        return {};
    }
    const auto folder_of = [](const std::string& path) { return path.substr(0, path.rfind('/') + 1); };
    const std::string beside = folder_of(own_file.path());
    std::vector<std::string> files{beside + name, beside + ".debug/" + name};
    for (const std::string& folder : paths.debug_folders) {
        files.push_back(folder + folder_of(path_of(image)) + name);
    }
    return files;
}

}  // namespace perfleet
