// An allow-list: a folder of public key files (NAME.pub), each of which lets its owner in. Read again without a
// restart; a bad file is reported and left out, the others work.
//
// Reading again costs one look at the folder, unless something changed in it: inotify tells, and a whole look at every
// file's times each kWholeLookNs makes up for file systems that don't tell. It tells nothing of the file that a
// symbolic link names: while there is one, each look is a whole one. Only files that changed are opened. Lookup by key
// is O(1), whatever the number. One thread; what set() gives is immutable and may be read by any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

namespace perfleet {

// Who may come in. Two keys may have one name, so that a key can be replaced while the old one is still in use.
class KeySet {
public:
    using Entry = std::shared_ptr<const Enrolment>;

    // Null: unknown.
    [[nodiscard]] Entry find(const PublicKey& key) const {
        const auto found = entries_.find(key);
        return found == entries_.end() ? nullptr : found->second;
    }
    // False: the key is there already, under another file.
    bool insert(Entry entry) { return entries_.emplace(entry->key, std::move(entry)).second; }

    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    std::unordered_map<PublicKey, Entry, PublicKey::Hash> entries_;
};

class KeyFolder {
public:
    static constexpr std::uint64_t kLookEveryNs = 1'000'000'000;
    static constexpr std::uint64_t kWholeLookNs = 30'000'000'000;        // where inotify tells
    static constexpr std::uint64_t kWholeLookWithoutNs = 2'000'000'000;  // where it doesn't
    static constexpr std::size_t kFilesMax = 1U << 18;
    static constexpr std::size_t kReportsMax = 16;  // lines about bad files, of one reading; then their number

    // Reads it. `option` is how the user names the folder ("--collectors"). Errors: kNotFound and others of errno,
    // kPermission (others can write there), with the way out.
    [[nodiscard]] static Result<std::unique_ptr<KeyFolder>> open(std::string_view option, std::string path,
                                                                 LogText log);
    KeyFolder(const KeyFolder&) = delete;
    KeyFolder& operator=(const KeyFolder&) = delete;

    // Looks whether something changed and reads it, no oftener than it has to: to be called every kLookEveryNs. True:
    // set() is another one now. A folder that is gone revokes all keys, one that can't be read leaves everything as it
    // is; both with a notice.
    bool refresh(std::uint64_t now_ns);

    [[nodiscard]] const std::shared_ptr<const KeySet>& set() const { return set_; }
    [[nodiscard]] std::size_t bad_file_count() const { return bad_file_count_; }

private:
    struct File {
        std::uint64_t inode = 0;
        std::int64_t changed_s = 0;  // ctime: nobody can set it
        std::int64_t changed_ns = 0;
        KeySet::Entry entry;  // null: bad
        std::string fault;
        bool is_fresh = false;  // changed so lately that a further change might show the same time
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
    bool is_failing_ = false;  // the folder can't be read, and the operator knows
    bool has_fresh_ = false;
    bool has_links_ = false;
    std::uint64_t last_whole_look_ns_ = 0;
    std::uint64_t folder_inode_ = 0;
    std::size_t bad_file_count_ = 0;
    std::size_t report_count_ = 0;
    std::map<std::string, File> files_;  // by name: what is left out among equal keys doesn't depend on the order
    std::shared_ptr<const KeySet> set_ = std::make_shared<KeySet>();
};

}  // namespace perfleet
