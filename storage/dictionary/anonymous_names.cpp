#include "storage/dictionary/anonymous_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace perfleet {
namespace {

constexpr std::array<std::string_view, 9> kSystemFolders{"/usr/",  "/lib/",  "/lib32/", "/lib64/", "/bin/",
                                                         "/sbin/", "/proc/", "/sys/",   "/dev/"};

// Of one kind: "host-1".
class StandIns {
public:
    explicit StandIns(std::string kind) : kind_{std::move(kind) + "-"} {}

    std::string of(std::string_view name) {
        const std::lock_guard lock{mutex_};
        const auto known = numbers_.find(name);
        if (known != numbers_.end()) {
            return kind_ + std::to_string(known->second);
        }
        if (numbers_.size() >= kAnonymousNamesMax) {
            return kind_ + "other";
        }
        numbers_.emplace(name, numbers_.size() + 1);
        return kind_ + std::to_string(numbers_.size());
    }

private:
    std::string kind_;
    std::mutex mutex_;
    std::map<std::string, std::size_t, std::less<>> numbers_;
};

std::string anonymous_path(std::string_view path) {
    static StandIns folders{"folder"};
    if (std::ranges::any_of(kSystemFolders, [&](std::string_view folder) { return path.starts_with(folder); })) {
        return std::string{path};
    }
    std::string made;
    std::size_t begin = 0;
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', begin)) {
        const std::string_view folder = path.substr(begin, slash - begin);
        const bool is_replaced = folder.empty() || folder.starts_with("folder-");
        made += (is_replaced ? std::string{folder} : folders.of(folder)) + "/";
        begin = slash + 1;
    }
    return made + std::string{path.substr(begin)};
}

bool is_at_path(std::string_view text, std::size_t place) {
    constexpr std::string_view kUrl = "file://";
    constexpr std::string_view kBefore = " (['\"=";
    return text[place] == '/' && (place == 0 || kBefore.find(text[place - 1]) != std::string_view::npos ||
                                  text.substr(0, place).ends_with(kUrl));
}

}  // namespace

std::string anonymous_text(std::string_view text) {
    if (text.starts_with("//")) {  // memory without a file
        return std::string{text};
    }
    std::string made;
    for (std::size_t place = 0; place < text.size();) {
        if (!is_at_path(text, place)) {
            made += text[place++];
            continue;
        }
        const std::size_t end = std::min(text.find_first_of(" )]'\"", place), text.size());
        made += anonymous_path(text.substr(place, end - place));
        place = end;
    }
    return made;
}

void anonymise(SessionRecord& session) {
    static StandIns hosts{"host"};
    session.target_name = hosts.of(session.target_name);
    std::vector<std::string>& words = session.host.command_line;
    const auto dashes = std::ranges::find(words, "--");
    const auto command = dashes == words.end() || dashes + 1 == words.end() ? words.begin() : dashes + 1;
    if (command != words.end()) {
        const bool has_arguments = command + 1 != words.end();
        const std::size_t slash = command->rfind('/');
        words = {command->substr(slash == std::string::npos ? 0 : slash + 1)};
        if (has_arguments) {
            words.emplace_back("[...]");
        }
    }
}

void anonymise(EpochDictionary& dictionary) {
    dictionary.rename(
        [](ImageDefinition& image) {
            image.file = image.name;
            image.name = anonymous_text(image.name);
        },
        [](std::string& text) { text = anonymous_text(text); });
}

}  // namespace perfleet
