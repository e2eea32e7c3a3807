#include "target-collector/intake/perf-data/recorded_code.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "schemas/text/layout.h"
#include "schemas/vocabulary/kinds.h"
#include "target-collector/process/proc_reader.h"

namespace perfleet {
namespace {

constexpr std::int64_t kFileSlackNs = kNsPerSecond;  // of file times
constexpr std::size_t kForksMax = 65'536;
constexpr std::size_t kPidsMax = 65'536;  // that were looked for
constexpr int kAncestorsMax = 16;

}  // namespace

void RecordedCode::note_fork(std::uint32_t pid, std::uint32_t parent_pid, UtcNs time) {
    if (!is_own_host_ || (forks_.size() == kForksMax && !forks_.contains(pid))) {
        return;
    }
    forks_[pid] = {parent_pid, time};
    named_by_.erase(pid);
    // Another process had the number before.
    if (const auto before = maps_.find(pid); before != maps_.end()) {
        map_count_ -= before->second.function_count() != 0 ? 1 : 0;
        maps_.erase(before);
    }
}

std::uint32_t RecordedCode::pid_of_map(std::uint32_t pid) {
    if (!is_own_host_) {
        return 0;
    }
    const auto [known, is_new] = named_by_.try_emplace(pid, 0);
    std::uint32_t ancestor = pid;
    for (int depth = 0; is_new && depth < kAncestorsMax; ++depth) {
        if (map_of(ancestor) != nullptr) {
            known->second = ancestor;
            break;
        }
        const auto fork = forks_.find(ancestor);
        if (fork == forks_.end()) {
            break;
        }
        ancestor = fork->second.parent_pid;
    }
    return known->second;
}

std::string RecordedCode::text_of_map(std::uint32_t pid) const {
    const auto open_map = [&](const std::string& root, std::uint32_t number) {
        const std::string path = root + folder_ + "/perf-" + std::to_string(number) + ".map";
        return FileDescriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)};
    };
    const auto lives = proc_start(pid);
    const auto [recorded_from, recorded_until] = recorded_;
    const bool is_alive = lives && lives->value <= recorded_until.value + kFileSlackNs;
    FileDescriptor file;
    if (is_alive) {  // of a container
        file = open_map("/proc/" + std::to_string(pid) + "/root", proc_innermost_pid(pid).value_or(pid));
    }
    if (!file) {
        file = open_map("", pid);
    }
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        (status.st_uid != ::geteuid() && status.st_uid != 0)) {
        return {};
    }
    const std::int64_t written_ns = (status.st_mtim.tv_sec * kNsPerSecond) + status.st_mtim.tv_nsec;
    const auto fork = forks_.find(pid);
    const UtcNs began = fork != forks_.end() ? fork->second.time : is_alive ? *lives : recorded_from;
    if (written_ns + kFileSlackNs < began.value || (!is_alive && written_ns > recorded_until.value + kFileSlackNs)) {
        return {};
    }
    std::string text(static_cast<std::size_t>(std::min<std::int64_t>(status.st_size, kMapSizeBytesMax)), '\0');
    text.resize(read_all_at(file.get(), 0, std::as_writable_bytes(std::span{text})));
    return text;
}

const PerfMap* RecordedCode::map_of(std::uint32_t pid) {
    if (const auto known = maps_.find(pid); known != maps_.end()) {
        return known->second.function_count() != 0 ? &known->second : nullptr;
    }
    if (!is_own_host_ || maps_.size() == kPidsMax) {
        return nullptr;
    }
    PerfMap& map = maps_[pid];
    const std::string text = text_of_map(pid);
    left_out_count_ += !text.empty() && map_count_ == kProcessesMax ? 1 : 0;
    map.add(map_count_ == kProcessesMax ? std::string_view{} : text);
    map_count_ += map.function_count() != 0 ? 1 : 0;
    if (map.replaced_count() != 0) {
        replaced_[pid] = map.replaced_count();
    }
    return map.function_count() != 0 ? &map : nullptr;
}

void RecordedCode::name_frames(std::uint32_t pid, ResolvedStack& stack) {
    const std::uint32_t named_by = pid_of_map(pid);
    const PerfMap* const map = named_by != 0 ? map_of(named_by) : nullptr;
    if (map == nullptr) {
        return;
    }
    for (ResolvedFrame& frame : std::span{stack.frames}.first(stack.frame_count)) {
        const Image& memory = table_.at(frame.image);
        if ((memory.flags & image_flags::kAnonymous) == 0 || memory.size != 0) {
            continue;
        }
        const std::uint64_t address = memory.address + frame.offset;
        const auto function = map->find(address);
        const auto image =
            function
                ? table_.intern(
                      {std::string{function->name}, image_flags::kAnonymous, function->start, function->size_bytes, {}})
                : std::nullopt;
        if (image) {
            frame = {*image, address - function->start};
        }
    }
}

std::vector<std::string> RecordedCode::warnings() const {
    std::vector<std::string> texts;
    for (const auto& [pid, count] : replaced_) {
        texts.push_back(folder_ + "/perf-" + std::to_string(pid) + ".map has " + counted_noun(count, "function") +
                        " in whose place others were compiled later: as it has no times, samples of both "
                        "have the later name");
    }
    if (left_out_count_ > 0) {
        texts.push_back(std::to_string(left_out_count_) + " more maps of JIT code weren't read: at most " +
                        std::to_string(kProcessesMax) + " are");
    }
    return texts;
}

}  // namespace perfleet
