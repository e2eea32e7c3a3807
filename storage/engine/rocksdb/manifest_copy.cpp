#include "storage/engine/rocksdb/manifest_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "schemas/host/file_io.h"
#include "storage/engine/file_name.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/log_format.h"
#include "storage/engine/rocksdb/table_file.h"
#include "storage/model/little_endian.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCurrentFile = "CURRENT";
constexpr std::string_view kManifestPrefix = "MANIFEST-";
constexpr std::string_view kCopySuffix = ".copy";
constexpr const char* kDamagedSuffix = ".damaged";
// Much larger than a manifest should be, since its last edit may be a large one.
static_assert(kReadFileSizeBytesMax >= 8 * kManifestSizeBytesMax);
constexpr std::size_t kChunkSizeBytes = 64U << 10;
constexpr int kLooks = 8;  // retries while another writer takes over

std::string copy_name(const std::string& manifest) { return manifest + std::string{kCopySuffix}; }

std::string manifest_name(std::uint64_t number) { return std::string{kManifestPrefix} + file_number_text(number); }

std::optional<std::string> read_whole(const std::string& directory, const std::string& name) {
    return read_regular_file(fs::path{directory} / name);
}

// 0 if the name has another form; RocksDB's numbers begin with 1.
std::uint64_t number_in(std::string_view name, std::string_view suffix) {
    if (!name.starts_with(kManifestPrefix) || !name.ends_with(suffix)) {
        return 0;
    }
    name.remove_prefix(kManifestPrefix.size());
    name = name.substr(0, name.size() - std::min(name.size(), suffix.size()));
    const bool is_number = name.find_first_not_of("0123456789") == std::string_view::npos;
    return is_number ? std::strtoull(std::string{name}.c_str(), nullptr, 10) : 0;
}

std::vector<std::uint64_t> copies_in(const std::string& directory) {
    std::vector<std::uint64_t> numbers;
    std::error_code error;
    for (const std::string& name : names_in(directory, kCopySuffix, error)) {
        if (const std::uint64_t number = number_in(name, kCopySuffix); number != 0) {
            numbers.push_back(number);
        }
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

// Record by record, takes what either of the two has; undamaged, both have the same bytes.
struct Merge {
    std::string bytes;
    bool is_conflict = false;  // the two have different records at one place
    bool is_damaged = false;   // neither has the next record, and one of them continues after it
};

// True for the rest of a file that was being written, or that a power loss has cut or zeroed.
bool is_unfinished(std::string_view rest) {
    const bool is_zero = rest.find_first_not_of('\0') == std::string_view::npos;
    return is_zero || rest.size() < kLogHeaderSizeBytes ||
           kLogHeaderSizeBytes + load_little_endian<std::uint16_t>(rest.data() + 4) > rest.size();
}

Merge merge(std::string_view file, std::string_view copy) {
    Merge merged;
    const auto from = [](std::string_view bytes, std::size_t at) { return bytes.substr(std::min(at, bytes.size())); };
    for (;;) {
        const std::size_t at = merged.bytes.size();
        const std::size_t left = kLogBlockSizeBytes - at % kLogBlockSizeBytes;
        if (left < kLogHeaderSizeBytes && std::max(file.size(), copy.size()) > at + left) {
            merged.bytes.append(left, '\0');
            continue;
        }
        const auto own = log_record_in(from(file, at).substr(0, left));
        const auto others = log_record_in(from(copy, at).substr(0, left));
        if (!own && !others) {
            merged.is_damaged = !is_unfinished(from(file, at)) || !is_unfinished(from(copy, at));
            merged.bytes.resize(whole_edits_size_bytes(merged.bytes));
            return merged;
        }
        if (own && others && (own->type != others->type || own->payload != others->payload)) {
            merged.is_conflict = true;
            return merged;
        }
        merged.bytes += (own ? file : copy).substr(at, (own ? own : others)->size_bytes());
    }
}

// Counts the manifest's table files that exist: of two manifests, the store's own has more.
std::size_t count_tables(const std::string& directory, const Manifest& manifest) {
    std::size_t count = 0;
    for (const auto& [number, table] : manifest.tables) {
        const fs::path path = fs::path{directory} / table_file_name(number);
        std::error_code error;
        const bool is_whole = fs::file_size(path, error) == table.size_bytes && !error;
        count += is_whole && try_to_open_table(path, table.size_bytes, table.session_id).ok() ? 1 : 0;
    }
    return count;
}

bool is_before(const Manifest& one, const std::optional<Manifest>& other) {
    return other && (one.next_file < other->next_file || one.last_sequence < other->last_sequence);
}

FoundManifest manifest_from(std::string name, std::string_view bytes) {
    std::string whole{bytes.substr(0, whole_edits_size_bytes(bytes))};
    auto content = decode_manifest(whole);
    return {std::move(name), std::move(whole), std::move(content), ""};
}

std::string damage_of(const std::optional<std::string>& file, const std::string& right) {
    if (!file) {
        return "is missing or can't be read";
    }
    const auto [at, of_file] = std::mismatch(right.begin(), right.end(), file->begin(), file->end());
    if (at == right.end()) {
        return "";
    }
    return of_file == file->end()
               ? "has " + std::to_string(file->size()) + " bytes, not " + std::to_string(right.size())
               : "is damaged at byte " + std::to_string(at - right.begin());
}

Error untold(const std::string& directory, const std::string& file, const std::string& what) {
    return {ErrorCode::kCorrupt,
            directory + "/" + file + " " + what +
                ": which table files the store has can't be determined, so nothing is opened or deleted; "
                "put the file back, or restore the store from a backup (perfleet restore --help)"};
}

// Reads a manifest that has no copy, or is longer than its copy.
Result<FoundManifest> manifest_alone(const std::string& directory, const std::string& name,
                                     const std::optional<std::string>& file) {
    FoundManifest found = manifest_from(name, file.value_or(""));
    if (file && !is_unfinished(std::string_view{*file}.substr(found.bytes.size()))) {
        return untold(directory, name,
                      "is damaged at byte " + std::to_string(found.bytes.size()) + ", and has no copy of that");
    }
    return found;
}

// Compares the newest manifest that has a copy with that copy.
Result<FoundManifest> hold_against_copy(const std::string& directory, const std::string& name,
                                        const std::string& copy) {
    const std::optional<std::string> file = read_whole(directory, name);
    if (file && file->starts_with(copy)) {
        return manifest_alone(directory, name, file);
    }
    Merge merged = merge(file.value_or(""), copy);
    FoundManifest found;
    if (merged.is_conflict) {
        FoundManifest own = manifest_from(name, *file);
        found = manifest_from(name, copy);
        const std::size_t own_count = own.content ? count_tables(directory, *own.content) : 0;
        const std::size_t count = found.content ? count_tables(directory, *found.content) : 0;
        if (own_count > count) {
            return own;
        }
        if (own_count == count) {
            return untold(directory, name, "and its copy are of different stores or times");
        }
    } else if (merged.is_damaged) {
        return untold(directory, name, "and its copy are both damaged at byte " + std::to_string(merged.bytes.size()));
    } else {
        found = {name, std::move(merged.bytes), std::nullopt, ""};
        found.content = decode_manifest(found.bytes);
    }
    found.damage = damage_of(file, found.bytes);
    return found;
}

Result<FoundManifest> find_once(const std::string& directory, const std::optional<std::string>& current) {
    const std::uint64_t number = current && current->ends_with('\n')
                                     ? number_in(std::string_view{*current}.substr(0, current->size() - 1), "")
                                     : 0;
    const std::vector<std::uint64_t> copies = copies_in(directory);
    // The copy is read before the manifest, because the manifest grows first.
    const std::string copy =
        copies.empty() ? "" : read_whole(directory, copy_name(manifest_name(copies.back()))).value_or("");
    const bool has_copy = !copies.empty() && whole_edits_size_bytes(copy) != 0;
    if (number != 0 && (!has_copy || number > copies.back())) {
        const std::string name = manifest_name(number);
        const auto file = read_whole(directory, name);
        if (file || !has_copy) {
            auto own = PERFLEET_TRY(manifest_alone(directory, name, file));
            if (!has_copy || (own.content && !is_before(*own.content, decode_manifest(copy)))) {
                return own;
            }
        }
    } else if (!current && copies.empty()) {
        return FoundManifest{};  // no store
    } else if (!has_copy) {      // RocksDB would create a new store, and delete this one's files
        return untold(directory, "CURRENT", "is missing or damaged, and no manifest has a copy that can be read");
    }
    const std::string name = manifest_name(copies.back());
    auto found = PERFLEET_TRY(hold_against_copy(directory, name, copy));
    if (number != copies.back()) {
        found.damage += (found.damage.empty() ? "is the store's manifest" : "; it is the store's manifest") +
                        std::string{", but CURRENT "} +
                        (number != 0 ? "names " + manifest_name(number) : "is missing or damaged");
    }
    return found;
}

// Keeps the replaced file under its name with kDamagedSuffix.
Result<Done> replace_file(const std::string& directory, const std::string& name, std::string_view bytes) {
    const fs::path path = fs::path{directory} / name;
    const fs::path made = fs::path{directory} / "000000.dbtmp";  // RocksDB deletes files with this suffix
    {
        const FileDescriptor file{::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kStoreFileMode)};
        if (!file || !write_all(file.get(), std::as_bytes(std::span{bytes})) || ::fsync(file.get()) != 0) {
            return error_from_errno(errno, made.string());
        }
    }
    std::error_code none;
    fs::rename(path, path.string() + kDamagedSuffix, none);
    if (::rename(made.c_str(), path.c_str()) != 0) {
        return error_from_errno(errno, path.string());
    }
    return sync_folder(directory);
}

}  // namespace

Result<FoundManifest> find_manifest(const std::string& directory) {
    auto current = read_whole(directory, kCurrentFile);
    for (int look = 1;; ++look) {
        auto found = find_once(directory, current);
        auto current_now = read_whole(directory, kCurrentFile);
        if ((found.ok() && found->damage.empty()) || current_now == current || look == kLooks) {
            return found;
        }
        current = std::move(current_now);
    }
}

Result<Done> restore_manifest(const std::string& directory, const FoundManifest& found) {
    if (!damage_of(read_whole(directory, found.file), found.bytes).empty()) {
        PERFLEET_TRY(replace_file(directory, found.file, found.bytes));
    }
    const std::string current = found.file + "\n";
    return read_whole(directory, kCurrentFile) == current ? Result<Done>{Done{}}
                                                          : replace_file(directory, kCurrentFile, current);
}

void ManifestCopier::update() {
    const std::lock_guard lock{mutex_};
    const auto current = read_whole(directory_, kCurrentFile);
    if (!current || !current->ends_with('\n')) {
        return;
    }
    const std::string name = current->substr(0, current->size() - 1);
    const fs::path folder{directory_};
    const bool is_another = name != manifest_;
    if (is_another) {
        copy_.reset(
            ::open((folder / copy_name(name)).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kStoreFileMode));
        size_bytes_ = 0;
        manifest_ = copy_ ? name : "";
    }
    const FileDescriptor manifest = open_regular_file(folder / name);
    if (!manifest || !copy_) {
        return;
    }
    std::vector<std::byte> chunk(kChunkSizeBytes);
    for (std::size_t size = chunk.size(); size == chunk.size();) {
        size = read_all_at(manifest.get(), size_bytes_, chunk);
        if (!write_all_at(copy_.get(), size_bytes_, std::span{chunk}.first(size))) {
            return;
        }
        size_bytes_ += size;
    }
    if (is_another) {
        for (const std::uint64_t number : copies_in(directory_)) {
            if (manifest_name(number) != name) {
                std::error_code gone;
                fs::remove(folder / copy_name(manifest_name(number)), gone);
            }
        }
    }
}

}  // namespace perfleet
