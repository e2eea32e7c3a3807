// Gives a fuzz target the inputs that are kept in files, without libFuzzer: a bug that was found once stays found in
// every build. Usage: fuzz_replay TARGET FILE|FOLDER…
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#define REPLAY_TARGET(name) extern "C" int replay_##name(const unsigned char* data, std::size_t size_bytes);
REPLAY_TARGETS
#undef REPLAY_TARGET

namespace {

struct ReplayTarget {
    std::string_view name;
    int (*take_input)(const unsigned char* data, std::size_t size_bytes);
};
constexpr ReplayTarget kTargets[] = {
#define REPLAY_TARGET(name) {#name, replay_##name},
    REPLAY_TARGETS
#undef REPLAY_TARGET
};

namespace fs = std::filesystem;

std::vector<fs::path> files_of(int argument_count, char** arguments) {
    std::vector<fs::path> files;
    for (int i = 2; i < argument_count; ++i) {
        if (!fs::is_directory(arguments[i])) {
            files.emplace_back(arguments[i]);
            continue;
        }
        for (const auto& entry : fs::recursive_directory_iterator{arguments[i]}) {
            if (entry.is_regular_file()) {
                files.push_back(entry.path());
            }
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

int main(int argument_count, char** arguments) {
    const std::vector<fs::path> files = files_of(argument_count, arguments);
    const auto* target = argument_count < 2 ? std::end(kTargets)
                                            : std::find_if(std::begin(kTargets), std::end(kTargets),
                                                           [&](const auto& each) { return each.name == arguments[1]; });
    if (target == std::end(kTargets) || files.empty()) {
        std::fprintf(stderr, "%s: no target or no inputs; usage: %s TARGET FILE|FOLDER...\n", arguments[0],
                     arguments[0]);
        return 2;
    }
    for (const fs::path& path : files) {
        std::ifstream file{path, std::ios::binary};
        const std::vector<char> bytes{std::istreambuf_iterator<char>{file}, {}};
        if (!file) {
            std::fprintf(stderr, "%s: can't read '%s'\n", arguments[0], path.c_str());
            return 1;
        }
        // Printed before: a crash names its input.
        std::printf("%s\n", path.c_str());
        std::fflush(stdout);
        const std::vector<unsigned char> exact(bytes.begin(), bytes.end());
        target->take_input(exact.data(), exact.size());
    }
    std::printf("%zu inputs\n", files.size());
    return 0;
}
