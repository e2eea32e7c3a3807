// An allow-list: a folder of public key files (NAME.pub), each of which admits its owner. It is read again without a
// restart; a bad file is reported and skipped.
//
// A check for changes costs a stat and an inotify read. Every kWholeLookNs the times of all files are compared as well,
// for file systems without inotify events. inotify doesn't report changes of the target of a symbolic link: while the
// folder has one, every check compares all times. Only changed files are opened. Lookup by key is O(1). One thread; the
// result of set() is immutable and may be read by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schemas/host/file_descriptor.h"
#include "schemas/peers/key_file.h"
#include "schemas/peers/public_key.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

// The admitted keys. Two keys may have the same name, so that a key can be replaced while the old one is still in use.
class KeySet {
public:
    using Entry = std::shared_ptr<const Enrolment>;

    // Null: unknown.
    [[nodiscard]] Entry find(const PublicKey& key) const {
        const auto found = entries_.find(key);
        return found == entries_.end() ? nullptr : found->second;
    }
    // False: the key exists already, from another file.
    bool insert(Entry entry) { return entries_.emplace(entry->key, std::move(entry)).second; }

    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    std::unordered_map<PublicKey, Entry, PublicKey::Hash> entries_;
};

class KeyFolder : NonCopyable {
public:
    static constexpr std::uint64_t kLookEveryNs = 1'000'000'000;
    static constexpr std::uint64_t kWholeLookNs = 30'000'000'000;        // with inotify
    static constexpr std::uint64_t kWholeLookWithoutNs = 2'000'000'000;  // without inotify
    static constexpr std::size_t kFilesMax = 1U << 18;
    static constexpr std::size_t kReportsMax = 16;  // lines about bad files per reading; then only their number

    // Reads the folder. `option` is its name for the user ("--collectors"). Errors: kNotFound and others of errno,
    // kPermission (others can write to it), with the way out.
    [[nodiscard]] static Result<std::unique_ptr<KeyFolder>> open(std::string_view option, std::string path,
                                                                 LogText log);

    // Checks for changes, at most as often as needed, and reads them; call it every kLookEveryNs. True: set() has
    // changed. A deleted folder revokes all keys; an unreadable one changes nothing; both are logged.
    bool refresh(std::uint64_t now_ns);

    [[nodiscard]] const std::shared_ptr<const KeySet>& set() const { return set_; }
    [[nodiscard]] std::size_t bad_file_count() const { return bad_file_count_; }

private:
    struct File {
        std::uint64_t inode = 0;
        std::int64_t changed_s = 0;  // ctime, which users can't set
        std::int64_t changed_ns = 0;
        KeySet::Entry entry;  // null: bad
        std::string fault;
        bool is_fresh = false;  // changed so recently that another change might leave the same time
        bool is_seen = false;
    };

    explicit KeyFolder(std::string path, LogText log) : path_{std::move(path)}, log_{std::move(log)} {}

    [[nodiscard]] Result<bool> read_all();
    [[nodiscard]] bool read_file(const std::string& name, File& file);
    void build_set();
    void watch();
    bool take_events();
    void report(std::string_view text);

    std::string path_;
    LogText log_;
    FileDescriptor inotify_;
    bool is_failing_ = false;  // the folder can't be read, which was logged
    bool has_fresh_ = false;
    bool has_links_ = false;
    std::uint64_t last_whole_look_ns_ = 0;
    std::uint64_t folder_inode_ = 0;
    std::size_t bad_file_count_ = 0;
    std::size_t report_count_ = 0;
    std::map<std::string, File> files_;  // by name, so that the choice between equal keys doesn't depend on order
    std::shared_ptr<const KeySet> set_ = std::make_shared<KeySet>();
};

}  // namespace perfleet
