#include "tools/perfleet/function/function_image.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "query-engine/symbol/elf_file.h"
#include "target-collector/linux/command.h"
#include "target-collector/process/proc_reader.h"
#include "tools/perfleet/shell/run_program.h"

namespace perfleet {
namespace {

constexpr int kInterpretersMax = 4;  // of a script; the kernel's limit
constexpr std::size_t kNamesShownMax = 12;

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_this_file(const std::string& path, const ProcMapping& mapping) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && status.st_ino == mapping.inode;
}

// A path that opens a file mapped by a process: in our mount namespace, else in the process's, else by the mapping.
std::string path_of(std::uint32_t pid, const ProcMapping& mapping) {
    const std::string process = "/proc/" + std::to_string(pid);
    if (is_this_file(mapping.path, mapping)) {
        return mapping.path;
    }
    if (const std::string inside = process + "/root" + mapping.path; is_this_file(inside, mapping)) {
        return inside;
    }
    std::ostringstream range;
    range << process << "/map_files/" << std::hex << mapping.start << '-' << mapping.end;
    return range.str();
}

void add_images(std::uint32_t pid, std::map<std::pair<std::uint64_t, std::uint64_t>, FunctionImage>& images) {
    std::error_code ignored;
    const std::string program =
        std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", ignored).string();
    const std::vector<ProcThread> threads = proc_threads(pid);
    for (const ProcMapping& mapping : proc_mappings(pid)) {
        if (mapping.inode == 0 || !mapping.path.starts_with('/')) {
            continue;
        }
        const std::uint64_t device = (std::uint64_t{mapping.device_major} << 32U) | mapping.device_minor;
        FunctionImage& image = images[{device, mapping.inode}];
        if (!image.path.empty()) {
            continue;
        }
        image.path = path_of(pid, mapping);
        image.name = last_part(mapping.path);
        if (mapping.path == program && !threads.empty()) {
            image.names.push_back(threads.front().name);
        }
    }
}

std::vector<FunctionImage> values_of(std::map<std::pair<std::uint64_t, std::uint64_t>, FunctionImage>&& by_file) {
    std::vector<FunctionImage> images;
    for (auto& [file, image] : by_file) {
        images.push_back(std::move(image));
    }
    return images;
}

// "/bin/sh" of "#!/bin/sh -e"; empty: it is no script.
std::string interpreter_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::string line;
    std::getline(file, line);
    if (!line.starts_with("#!")) {
        return "";
    }
    std::istringstream words{line.substr(2)};
    std::string interpreter;
    std::string argument;
    words >> interpreter >> argument;
    if (last_part(interpreter) == "env" && !argument.empty()) {
        const auto found = find_command(argument);
        return found.ok() ? *found : "";
    }
    return interpreter;
}

// PT_INTERP, by its section; empty: it is linked statically.
std::string loader_of(const ElfFile& program) {
    const auto section = program.find_section(".interp");
    const std::string_view bytes = section ? program.section_bytes(*section) : std::string_view{};
    return std::string{bytes.substr(0, bytes.find('\0'))};
}

// Of a line "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)", or "/lib64/ld-linux-x86-64.so.2 (0x…)".
std::optional<FunctionImage> read_loader_line(const std::string& line) {
    std::istringstream words{line};
    std::string name;
    std::string word;
    words >> name >> word;
    std::string path = name;
    if (word == "=>") {
        words >> path;
    }
    if (!path.starts_with('/')) {
        return std::nullopt;
    }
    return FunctionImage{path, last_part(path), {last_part(name)}};
}

// "libc" is libc.so.6 and libc-2.31.so; "c", too.
bool is_library_name(const std::string& file, const std::string& name) {
    for (const std::string& start : {name, "lib" + name}) {
        const std::string_view rest =
            file.starts_with(start) ? std::string_view{file}.substr(start.size()) : std::string_view{};
        if (rest.starts_with(".so") || (rest.starts_with('-') && rest.find(".so") != std::string_view::npos)) {
            return true;
        }
    }
    return false;
}

}  // namespace

Result<FunctionImages> images_of_process(std::uint32_t pid) {
    const std::string name = "process " + std::to_string(pid);
    const std::vector<ProcThread> threads = proc_threads(pid);
    if (threads.empty()) {
        return Error{ErrorCode::kNotFound, "there is no " + name};
    }
    std::map<std::pair<std::uint64_t, std::uint64_t>, FunctionImage> images;
    add_images(pid, images);
    if (images.empty()) {
        return Error{ErrorCode::kPermission,
                     name + " (" + threads.front().name +
                         ") has no code that this user may see: it is the kernel's, or another user's"};
    }
    FunctionImages found{name + " (" + threads.front().name + ")", values_of(std::move(images))};
    // The program itself comes first.
    std::stable_partition(found.images.begin(), found.images.end(),
                          [](const FunctionImage& image) { return !image.names.empty(); });
    return found;
}

FunctionImages images_of_machine() {
    std::map<std::pair<std::uint64_t, std::uint64_t>, FunctionImage> images;
    for (const std::uint32_t pid : proc_pids()) {
        add_images(pid, images);
    }
    return {"this machine's processes", values_of(std::move(images))};
}

Result<FunctionImages> images_of_program(const std::string& path) {
    std::string program = path;
    for (int i = 0; i < kInterpretersMax; ++i) {
        const std::string interpreter = interpreter_of(program);
        if (interpreter.empty()) {
            break;
        }
        program = interpreter;
    }
    std::error_code error;
    const std::string real = std::filesystem::canonical(program, error).string();
    if (error) {
        return Error{ErrorCode::kNotFound, program + ": " + error.message()};
    }
    const auto file = PERFLEET_TRY(ElfFile::open(real));
    FunctionImages found{"the program " + last_part(path),
                         {{real, last_part(real), {last_part(path), last_part(program)}}}};
    const std::string loader = loader_of(*file);
    if (loader.empty()) {
        return found;
    }
    const auto output = PERFLEET_TRY(run_program({loader, "--list", real}));
    std::istringstream lines{output.text};
    for (std::string line; std::getline(lines, line);) {
        if (auto image = read_loader_line(line)) {
            image->path = std::filesystem::canonical(image->path, error).string();
            if (!error) {
                found.images.push_back(std::move(*image));
            }
        }
    }
    return found;
}

Result<FunctionImage> find_image(const FunctionImages& images, const std::string& name) {
    if (name.find('/') != std::string::npos) {
        std::error_code error;
        const std::string path = std::filesystem::canonical(name, error).string();
        if (error) {
            return Error{ErrorCode::kNotFound, name + ": " + error.message()};
        }
        return FunctionImage{path, last_part(path), {}};
    }
    std::vector<const FunctionImage*> exact;
    std::vector<const FunctionImage*> libraries;
    for (const FunctionImage& image : images.images) {
        if (image.name == name || std::find(image.names.begin(), image.names.end(), name) != image.names.end()) {
            exact.push_back(&image);
        } else if (is_library_name(image.name, name)) {
            libraries.push_back(&image);
        }
    }
    const std::vector<const FunctionImage*>& found = exact.empty() ? libraries : exact;
    if (found.size() == 1) {
        return *found.front();
    }
    std::string list;
    if (found.empty()) {
        for (std::size_t i = 0; i < std::min(images.images.size(), kNamesShownMax); ++i) {
            list += (i == 0 ? "" : ", ") + images.images[i].name;
        }
        list += images.images.size() > kNamesShownMax ? ", …" : "";
        return Error{ErrorCode::kNotFound, "'" + name + "': " + images.whose + " has no image of that name; it has " +
                                               list + ". What is loaded later is named by its path"};
    }
    for (std::size_t i = 0; i < std::min(found.size(), kNamesShownMax); ++i) {
        list += (i == 0 ? "" : ", ") + found[i]->path;
    }
    return Error{ErrorCode::kUsage, "'" + name + "' is the name of several files; give a path: " + list};
}

}  // namespace perfleet
