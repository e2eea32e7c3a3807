#include "schemas/peers/key_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "schemas/host/host_clock.h"

namespace perfleet {
namespace {

constexpr std::int64_t kFreshNs = 50'000'000;  // longer than a tick of the kernel's clock for file times

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

bool is_fresh_time(const timespec& changed) {
    return utc_now().value - (changed.tv_sec * kNsPerSecond + changed.tv_nsec) < kFreshNs;
}

}  // namespace

Result<std::unique_ptr<KeyFolder>> KeyFolder::open(std::string_view option, std::string path, LogText log) {
    const std::string what = std::string{option} + " " + path;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        Error error = error_from_errno(errno, what);
        if (error.code == ErrorCode::kNotFound) {
            error.message += "; make it, and put the NAME.pub files of `perfleet keygen NAME` into it";
        }
        return error;
    }
    if (!S_ISDIR(status.st_mode)) {
        return Error{ErrorCode::kInvalid,
                     what + ": not a folder; it takes the folder that NAME.pub files are put into"};
    }
    if ((status.st_mode & S_IWOTH) != 0) {
        return Error{ErrorCode::kPermission,
                     what + ": every account can write there, and so admit itself; chmod o-w " + path};
    }
    std::unique_ptr<KeyFolder> folder{new KeyFolder{std::move(path), std::move(log)}};
    folder->watch();  // before reading, so that changes during it cause another read
    auto read = folder->read_all();
    if (!read) {
        return Error{read.error().code, what + ": " + read.error().message};
    }
    return folder;
}

void KeyFolder::watch() {
    inotify_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ATTRIB | IN_CREATE |
                                      IN_DELETE_SELF | IN_MOVE_SELF;
    if (inotify_ && ::inotify_add_watch(inotify_.get(), path_.c_str(), kEvents) < 0) {
        inotify_.reset();
    }
}

// The watch is on the folder itself: if that is removed or renamed, the path is watched again.
bool KeyFolder::take_events() {
    alignas(inotify_event) std::array<char, 4'096> events{};
    bool has_events = false;
    bool is_gone = false;
    ssize_t size = 0;
    while (inotify_ && (size = ::read(inotify_.get(), events.data(), events.size())) > 0) {
        has_events = true;
        for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(size);) {
            inotify_event event{};
            std::memcpy(&event, events.data() + at, sizeof event);
            is_gone = is_gone || (event.mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) != 0;
            at += sizeof event + event.len;
        }
    }
    if (is_gone) {
        watch();
    }
    return has_events;
}

bool KeyFolder::refresh(std::uint64_t now_ns) {
    struct stat status {};
    // Another folder has this path now: some tools replace folders as a whole.
    const bool is_replaced = ::stat(path_.c_str(), &status) == 0 && status.st_ino != folder_inode_;
    if (is_replaced || is_failing_) {
        watch();
    }
    const std::uint64_t whole_look_ns = inotify_ ? kWholeLookNs : kWholeLookWithoutNs;
    const bool has_events = take_events();
    const bool looks_always = has_fresh_ || has_links_ || is_failing_;
    if (!has_events && !is_replaced && !looks_always && now_ns - last_whole_look_ns_ < whole_look_ns) {
        return false;
    }
    last_whole_look_ns_ = now_ns;
    auto changed = read_all();
    if (!changed) {
        const bool is_gone = changed.error().code == ErrorCode::kNotFound;
        if (!is_failing_) {
            log_("allow-list " + changed.error().message +
                 (is_gone ? "; all of its keys are revoked until it is there again"
                          : "; its last valid state still applies"));
        }
        is_failing_ = true;
        if (!is_gone || files_.empty()) {
            return false;
        }
        files_.clear();
        build_set();
        return true;
    }
    is_failing_ = false;
    return *changed;
}

Result<bool> KeyFolder::read_all() {
    const std::unique_ptr<DIR, CloseFolder> folder{::opendir(path_.c_str())};
    struct stat folder_status {};
    if (folder == nullptr || ::fstat(::dirfd(folder.get()), &folder_status) != 0) {
        return error_from_errno(errno, path_);
    }
    folder_inode_ = folder_status.st_ino;
    bool has_changed = false;
    has_fresh_ = false;
    has_links_ = false;
    report_count_ = 0;
    for (auto& [name, file] : files_) {
        file.is_seen = false;
    }
    errno = 0;
    for (const dirent* entry = ::readdir(folder.get()); entry != nullptr; entry = ::readdir(folder.get())) {
        const std::string name{static_cast<const char*>(entry->d_name)};
        if (name.front() == '.' || name.ends_with('~')) {
            continue;
        }
        struct stat status {};
        int failed = ::fstatat(::dirfd(folder.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
        if (failed == 0 && S_ISLNK(status.st_mode)) {
            has_links_ = true;  // also if the link is broken
            failed = ::fstatat(::dirfd(folder.get()), name.c_str(), &status, 0);
        }
        if (failed != 0 || S_ISDIR(status.st_mode)) {
            continue;
        }
        if (files_.size() >= kFilesMax && !files_.contains(name)) {
            return Error{ErrorCode::kTooLarge, path_ + ": more than " + std::to_string(kFilesMax) + " files"};
        }
        File& file = files_[name];
        file.is_seen = true;
        const bool is_same = file.inode == status.st_ino && file.changed_s == status.st_ctim.tv_sec &&
                             file.changed_ns == status.st_ctim.tv_nsec && !file.is_fresh;
        if (!is_same) {
            file.inode = status.st_ino;
            file.changed_s = status.st_ctim.tv_sec;
            file.changed_ns = status.st_ctim.tv_nsec;
            file.is_fresh = is_fresh_time(status.st_ctim);
            has_changed = read_file(name, file) || has_changed;
        }
        has_fresh_ = has_fresh_ || file.is_fresh;
    }
    has_changed = std::erase_if(files_, [](const auto& file) { return !file.second.is_seen; }) > 0 || has_changed;
    if (has_changed) {
        build_set();
    }
    return has_changed;
}

// True if its content has changed.
bool KeyFolder::read_file(const std::string& name, File& file) {
    const std::string path = path_ + "/" + name;
    KeySet::Entry entry;
    std::string fault;
    if (!name.ends_with(kPublicFileEnding)) {
        fault = path + ": not read, for its name doesn't end in " + std::string{kPublicFileEnding};
    } else if (auto text = read_key_file(path); !text) {
        fault = text.error().message;
    } else if (auto enrolment = parse_enrolment(*text, path); !enrolment) {
        fault = enrolment.error().message;
    } else {
        entry = std::make_shared<const Enrolment>(std::move(*enrolment));
    }
    const bool is_same = fault == file.fault && (entry == nullptr) == (file.entry == nullptr) &&
                         (entry == nullptr || *entry == *file.entry);
    if (is_same && (entry != nullptr || !fault.empty())) {
        return false;
    }
    if (!fault.empty()) {
        report(fault);
    }
    file.entry = std::move(entry);
    file.fault = std::move(fault);
    return true;
}

void KeyFolder::build_set() {
    auto set = std::make_shared<KeySet>();
    bad_file_count_ = 0;
    for (auto& [name, file] : files_) {
        if (file.entry == nullptr) {
            ++bad_file_count_;
        } else if (!set->insert(file.entry)) {
            ++bad_file_count_;
            report(path_ + "/" + name + ": left out, another file of this folder has its key");
        }
    }
    if (report_count_ > kReportsMax) {
        log_("allow-list " + path_ + ": " + std::to_string(bad_file_count_) + " files are left out in all");
    }
    set_ = std::move(set);
}

void KeyFolder::report(std::string_view text) {
    if (++report_count_ <= kReportsMax) {
        log_("allow-list " + std::string{text});
    }
}

}  // namespace perfleet
