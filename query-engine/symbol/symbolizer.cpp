#include "query-engine/symbol/symbolizer.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "query-engine/symbol/debuginfod.h"
#include "query-engine/symbol/demangle.h"
#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/elf_symbols.h"
#include "query-engine/symbol/kept_symbols.h"
#include "query-engine/symbol/kernel_symbols.h"
#include "query-engine/symbol/mini_debug_info.h"
#include "query-engine/symbol/reported_files.h"
#include "query-engine/symbol/source_frames.h"
#include "query-engine/symbol/symbol_files.h"
#include "query-engine/symbol/symbol_table.h"
#include "schemas/session/named_function.h"
#include "schemas/text/hex.h"
#include "schemas/text/layout.h"
#include "schemas/wire/protocol.h"
#include "storage/dictionary/anonymous_names.h"

namespace perfleet {
namespace {

// Tables kept at once; the least recently used one goes first.
constexpr std::size_t kTablesMax = 4'096;
constexpr std::size_t kWarningsMax = 256;
constexpr std::size_t kMadeSizeBytes = 96;         // about, of a made name in addition to its text
constexpr std::size_t kDemangledKeptMax = 65'536;  // names of one table

using FilePtr = std::unique_ptr<ElfFile>;

// The kernel's vdso as it is mapped into this process.
std::string own_vdso() {
    constexpr std::uint64_t kVdsoSizeBytesMax = 1U << 20;
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        if (!line.ends_with("[vdso]") || std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64, &first, &last) != 2 ||
            last <= first || last - first > kVdsoSizeBytesMax) {
            continue;
        }
        std::string bytes(last - first, '\0');
        std::ifstream memory{"/proc/self/mem", std::ios::binary};
        memory.seekg(static_cast<std::streamoff>(first));
        memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return memory ? bytes : std::string{};
    }
    return {};
}

bool has(const ImageDefinition& image, std::uint64_t flag) { return (image.flags & flag) != 0; }

// A JIT function is an image of its own, with a size.
bool is_run_time_function(const ImageDefinition& image) {
    return has(image, image_flags::kAnonymous) && image.size_bytes > 0;
}

// An interpreter's function has no address.
bool is_interpreted(const ImageDefinition& image) { return is_run_time_function(image) && image.address == 0; }

}  // namespace

std::string SymbolPaths::default_build_id_cache() {
    const char* home = std::getenv("HOME");
    return home == nullptr || *home == '\0' ? std::string{} : std::string{home} + "/.debug";
}

class Symbolizer::Tables {
public:
    Tables(const StoreReader* store, SymbolPaths paths, std::size_t size_bytes_max)
        : store_{store},
          paths_{std::move(paths)},
          source_frames_{store, paths_},
          size_bytes_max_{std::min(size_bytes_max, kTablesSizeBytesMax)} {}

    SourceFrames& source_frames() { return source_frames_; }

    std::uint64_t number_of_made(std::string name) {
        const std::lock_guard lock{mutex_};
        const auto [made, is_new] = made_numbers_.try_emplace(std::move(name), made_.size());
        if (is_new) {
            made_.push_back(&made->first);
            made_size_bytes_ += kMadeSizeBytes + made->first.size();
        }
        return made->second;
    }

    std::string made_name(std::uint64_t number) const {
        const std::lock_guard lock{mutex_};
        return number < made_.size() ? *made_[number] : std::string{};
    }

    std::size_t made_size_bytes() const {
        const std::lock_guard lock{mutex_};
        return made_size_bytes_;
    }

    // Symbols of one image; made once, by the first thread that asks.
    struct Entry {
        std::once_flag once;
        SymbolTable table;
        std::mutex names_mutex;
        std::unordered_map<std::uint64_t, std::string> names;  // demangled, by the symbol's start
        std::size_t accounted_size_bytes = 0;                  // guarded by Tables::mutex_
        std::list<std::string>::iterator used;                 // guarded by Tables::mutex_

        std::string name_of(const SymbolTable::Hit& hit) {
            if (!table.mangled || !hit.name.starts_with("_")) {
                return std::string{hit.name};
            }
            {
                const std::lock_guard lock{names_mutex};
                if (const auto known = names.find(hit.start); known != names.end()) {
                    return known->second;
                }
            }
            std::string name = demangled_name(hit.name);
            const std::lock_guard lock{names_mutex};
            if (names.size() < kDemangledKeptMax) {
                names.emplace(hit.start, name);
            }
            return name;
        }
    };

    std::shared_ptr<Entry> entry_of(const ImageDefinition& image) {
        std::string key = image.name;
        key += '\0';
        key += image.build_id;
        key += has(image, image_flags::kKernel) ? 'k' : 'u';
        std::shared_ptr<Entry> entry;
        {
            const std::lock_guard lock{mutex_};
            auto& place = entries_[key];
            if (place == nullptr) {
                place = std::make_shared<Entry>();
                used_.push_front(key);
                place->used = used_.begin();
            } else {
                used_.splice(used_.begin(), used_, place->used);
            }
            entry = place;
        }
        std::call_once(entry->once, [&] {
            entry->table = load(image);
            const std::lock_guard lock{mutex_};
            entry->accounted_size_bytes = entry->table.size_bytes();
            size_bytes_ += entry->accounted_size_bytes;
            drop_oldest();
        });
        return entry;
    }

    bool asks_debuginfod() const { return paths_.uses_debuginfod && has_debuginfod_urls(); }

    bool is_missing(const ImageDefinition& image) const {
        const std::lock_guard lock{mutex_};
        return missing_.has(said(image, own_file_of(image, paths_)));
    }

    void withdraw_missing(const std::set<std::string>& names) {
        const std::lock_guard lock{mutex_};
        for (const std::string& name : names) {
            missing_.remove(paths_.symfs + name);
        }
    }

    std::vector<std::string> warnings() const {
        const std::lock_guard lock{mutex_};
        std::vector<std::string> all{warnings_.begin(), warnings_.end()};
        for (std::string& warning : source_frames_.warnings()) {
            all.push_back(std::move(warning));
        }
        replaced_.append_to(all);
        missing_.append_to(all);
        return all;
    }

private:
    // Needs mutex_. A dropped entry lives on while it is in use.
    void drop_oldest() {
        while ((size_bytes_ > size_bytes_max_ || entries_.size() > kTablesMax) && used_.size() > 1) {
            const auto oldest = entries_.find(used_.back());
            size_bytes_ -= oldest->second->accounted_size_bytes;
            oldest->second->accounted_size_bytes = 0;
            entries_.erase(oldest);
            used_.pop_back();
        }
    }

    // Paths are hidden where the image's is.
    static std::string said(const ImageDefinition& image, std::string text) {
        return image.file.empty() ? std::move(text) : anonymous_text(text);
    }

    void warn(const ImageDefinition& image, std::string text) {
        const std::lock_guard lock{mutex_};
        warnings_.insert(said(image, std::move(text)));
        if (warnings_.size() > kWarningsMax) {  // sorted: the kept ones don't depend on the order
            warnings_.erase(std::prev(warnings_.end()));
        }
    }

    SymbolTable load(const ImageDefinition& image) {
        if (has(image, image_flags::kUnknown | image_flags::kAnonymous)) {
            return {};
        }
        // Importers make names of images that have no build-id.
        if (has(image, image_flags::kKernel | image_flags::kContentHash)) {
            if (auto table = from_store(image)) {
                return *std::move(table);
            }
        }
        if (has(image, image_flags::kVdso) || image.name == "[vdso]") {
            return from_vdso(image);
        }
        return from_files(image);
    }

    std::optional<SymbolTable> from_store(const ImageDefinition& image) {
        if (store_ == nullptr || image.build_id.empty()) {
            return std::nullopt;
        }
        auto content = store_->image(image.build_id);
        if (!content) {
            warn(image, image.name + ": its symbols can't be read from the store: " + content.error().message);
            return std::nullopt;
        }
        if (!*content || (*content)->type != static_cast<std::uint16_t>(protocol::ImageType::kKernelSymbols)) {
            return std::nullopt;
        }
        const Result<std::string> text = unpacked_symbols((*content)->bytes, image.name);
        if (!text.ok()) {
            warn(image, text.error().message);
            return std::nullopt;
        }
        std::uint64_t bad_lines = 0;
        auto table = symbols_of_kernel(*text, bad_lines);
        if (!table) {
            warn(image, image.name + ": " + table.error().message);
            return std::nullopt;
        }
        if (bad_lines > 0) {
            warn(image, image.name + ": " + counted_noun(bad_lines, "line") + " of its symbols can't be read");
        }
        return std::move(*table);
    }

    SymbolTable from_vdso(const ImageDefinition& image) {
        auto file = ElfFile::from_memory(own_vdso(), "[vdso]");
        if (!file || (*file)->build_id() != build_id_of(image)) {
            return {};  // of another kernel, whose vdso is in no file
        }
        return symbols_of_elf(**file, **file);
    }

    // Has no file if the store has none of this build or it can't be used: then `why` is the reason, if worth a
    // warning.
    KeptSymbols open_kept(const ImageDefinition& image, std::string& why) {
        if (store_ == nullptr || image.build_id.empty()) {
            return {};
        }
        auto content = store_->image(image.build_id);
        if (!content) {
            why = image.name + ": its kept symbols can't be read: " + content.error().message;
            return {};
        }
        if (!*content || (*content)->type != static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols)) {
            return {};
        }
        auto kept = open_kept_symbols((*content)->bytes, image.name);
        if (!kept) {
            why = kept.error().message;
            return {};
        }
        if (kept->file->build_id() != build_id_of(image) ||
            (kept->debug_file != nullptr && kept->debug_file->build_id() != build_id_of(image))) {
            why = image.name + ": its kept symbols are of another build-id; not used";
            return {};
        }
        return std::move(*kept);
    }

    // Symbols kept in the store replace the image's own file. The rest is perf's order: the first file with a .symtab
    // gives the names, the first with a .dynsym is the running one; the image's own file is the last.
    SymbolTable from_files(const ImageDefinition& image) {
        std::string why_not_kept;
        KeptSymbols kept = open_kept(image, why_not_kept);
        const auto has_names = [](const FilePtr& file) {
            return file != nullptr && file->find_section(".symtab", SHT_SYMTAB).has_value();
        };
        if (has_names(kept.file) || has_names(kept.debug_file)) {
            return symbols_of_elf(has_names(kept.file) ? *kept.file : *kept.debug_file, *kept.file);
        }
        FilePtr names;
        FilePtr running = std::move(kept.file);
        const bool has_kept = running != nullptr;
        const std::string own_path = own_file_of(image, paths_);
        for (const std::string& path : symbol_files_of(image, paths_)) {
            const bool is_own = path == own_path;
            FilePtr file = !is_own ? open_file_of(image, path) : has_kept ? nullptr : open_own_of(image, path);
            if (file == nullptr) {
                continue;
            }
            const bool has_dynamic = file->find_section(".dynsym", SHT_DYNSYM).has_value();
            if (names == nullptr && has_names(file)) {
                names = std::move(file);
                if (has_dynamic && running == nullptr) {
                    return symbols_of_elf(*names, *names);
                }
            } else if (running == nullptr && (has_dynamic || is_own)) {
                running = std::move(file);
            }
            if (names != nullptr && running != nullptr) {
                break;
            }
        }
        if (names == nullptr && running != nullptr) {
            names = open_linked_debug_file(image, *running);
        }
        if (names == nullptr && asks_debuginfod()) {
            names = download(Debuginfod::File::kDebugInfo, image);
            if (names != nullptr && running == nullptr) {
                running = download(Debuginfod::File::kExecutable, image);
                names = running == nullptr ? nullptr : std::move(names);  // alone it doesn't show where code lies
            }
        }
        if (names == nullptr && running != nullptr) {
            if (const FilePtr rest = open_rest_of(image, *running); rest != nullptr) {
                return symbols_of_elf(*rest, *running, true);
            }
        }
        if (names == nullptr && running == nullptr) {
            if (auto table = from_store(image)) {  // names that came with a recording
                return *std::move(table);
            }
            if (!why_not_kept.empty()) {
                warn(image, std::move(why_not_kept));
            }
            warn_if_missing(own_path, image);
            return {};
        }
        return symbols_of_elf(names != nullptr ? *names : *running, running != nullptr ? *running : *names);
    }

    // Null if the file has no usable .gnu_debugdata.
    FilePtr open_rest_of(const ImageDefinition& image, const ElfFile& file) {
        auto rest = open_mini_debug_info(file);
        if (rest.ok() && (*rest)->find_section(".symtab", SHT_SYMTAB)) {
            return std::move(*rest);
        }
        if (!rest.ok() && rest.error().code != ErrorCode::kNotFound) {
            warn(image, rest.error().message);
        }
        return nullptr;
    }

    static bool is_of(const ElfFile& file, const ImageDefinition& image) {
        return has(image, image_flags::kContentHash) ? file.build_id().empty() && file.content_hash() == image.build_id
                                                     : file.has_build_id(image.build_id);
    }

    // Null if the file is missing or of another image; warns unless it is missing.
    FilePtr open_file_of(const ImageDefinition& image, const std::string& path) {
        auto opened = ElfFile::open(path);
        if (!opened) {
            if (opened.error().code != ErrorCode::kNotFound) {
                warn(image, opened.error().message);
            }
            return nullptr;
        }
        if (is_of(**opened, image)) {
            return std::move(*opened);
        }
        warn(image, path + ": its build-id isn't that of " + image.name + "; not used");
        return nullptr;
    }

    // The file that was running. Null if it is missing or of another build; warns unless it is missing.
    FilePtr open_own_of(const ImageDefinition& image, const std::string& path) {
        Result<FilePtr> opened = ElfFile::open(path);
        if (opened.ok() && is_of(**opened, image)) {
            return std::move(*opened);
        }
        if (opened.ok()) {
            const auto text_of = [](std::string_view build_id) { return build_id.empty() ? "none" : hex_of(build_id); };
            const std::string difference =
                has(image, image_flags::kContentHash) ? ": isn't the file that was recorded"
                : image.build_id.empty() ? ": may be another file than was recorded, of which no build-id is known"
                                         : ": has build-id " + text_of((*opened)->build_id()) + ", not " +
                                               text_of(image.build_id) + " as when it was recorded";
            const std::lock_guard lock{mutex_};
            replaced_.add(said(image, path), said(image, path + difference + "; no symbols are taken from it"));
        } else if (opened.error().code != ErrorCode::kNotFound) {
            warn(image, opened.error().message);
        }
        return nullptr;
    }

    // The name of a kernel module is seldom the path of a file.
    void warn_if_missing(const std::string& path, const ImageDefinition& image) {
        std::error_code error;
        if (path.empty() || has(image, image_flags::kKernelModule) || std::filesystem::exists(path, error) || error) {
            return;
        }
        const std::lock_guard lock{mutex_};
        missing_.add(said(image, path),
                     said(image, path + " isn't here; its functions have no names (--symfs DIR looks elsewhere)"));
    }

    FilePtr open_linked_debug_file(const ImageDefinition& image, const ElfFile& running) {
        for (const std::string& path : linked_debug_files_of(running, image, paths_)) {
            FilePtr file = open_file_of(image, path);
            if (file != nullptr && file->find_section(".symtab", SHT_SYMTAB)) {
                return file;
            }
        }
        return nullptr;
    }

    // Null if no usable file was downloaded; warns unless the servers just don't have it.
    FilePtr download(Debuginfod::File kind, const ImageDefinition& image) {
        auto path = debuginfod_.find(kind, build_id_of(image));
        if (!path) {
            if (path.error().code != ErrorCode::kNotFound) {
                warn(image, path.error().message);
            }
            return nullptr;
        }
        FilePtr file = open_file_of(image, *path);
        const bool is_of_use = file != nullptr && (kind == Debuginfod::File::kExecutable ||
                                                   file->find_section(".symtab", SHT_SYMTAB).has_value());
        return is_of_use ? std::move(file) : nullptr;
    }

    const StoreReader* store_;
    const SymbolPaths paths_;
    SourceFrames source_frames_;
    Debuginfod debuginfod_;
    const std::size_t size_bytes_max_;
    mutable std::mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;
    std::list<std::string> used_;  // keys, the most recently used first
    std::size_t size_bytes_ = 0;
    std::set<std::string> warnings_;
    ReportedFiles replaced_{"have other build-ids than when they were recorded; no symbols are taken from them"};
    ReportedFiles missing_{"aren't here; their functions have no names (--symfs DIR looks elsewhere)"};
    std::unordered_map<std::string, std::uint64_t> made_numbers_;
    std::vector<const std::string*> made_;  // keys of made_numbers_
    std::size_t made_size_bytes_ = 0;
};

Symbolizer::Symbolizer(const StoreReader* store, SymbolPaths paths, std::size_t tables_size_bytes_max)
    : tables_{std::make_unique<Tables>(store, std::move(paths), tables_size_bytes_max)} {}

Symbolizer::~Symbolizer() = default;

// One image while offsets of it are named.
class Symbolizer::ImageNames {
public:
    // Borrows `tables` and `image`.
    ImageNames(Tables& tables, const ImageDefinition& image) : tables_{tables}, image_{image} {
        if (!is_run_time_function(image) && !has(image, kMadeFrame)) {
            symbols_ = tables.entry_of(image);
        }
    }

    // An offset that no symbol covers isn't resolved and has no name.
    Symbol at(std::uint64_t offset) {
        if (has(image_, kMadeFrame)) {
            return {tables_.made_name(offset), true, offset, offset, offset};
        }
        if (is_run_time_function(image_)) {
            return {std::string{NamedFunction::in(image_.name).function}, true, 0, 0, image_.size_bytes - 1};
        }
        SymbolTable::Hit hit;
        if (symbols_->table.find(offset, hit)) {
            return {symbols_->name_of(hit), true, hit.start, hit.first, hit.last};
        }
        if (has(image_, image_flags::kUnknown)) {
            return {image_display_name(image_), false, offset, 0, ~0ULL};
        }
        if (has(image_, image_flags::kAnonymous)) {
            return {image_display_name(image_), false, 0, 0, ~0ULL};  // the address is valid in one run only: no name
        }
        return {{}, false, offset, hit.first, hit.last, hit.start != 0 ? std::optional{hit.start} : std::nullopt};
    }

private:
    Tables& tables_;
    const ImageDefinition& image_;
    std::shared_ptr<Tables::Entry> symbols_;
};

Symbol Symbolizer::resolve(const ImageDefinition& image, std::uint64_t offset) {
    Symbol symbol = ImageNames{*tables_, image}.at(offset);
    if (!symbol.resolved && symbol.name.empty()) {
        return {place_name(image_display_name(image), offset), false, offset, offset, offset, symbol.function_offset};
    }
    return symbol;
}

Symbol Symbolizer::function_at(const ImageDefinition& image, std::uint64_t offset) {
    Symbol symbol = ImageNames{*tables_, image}.at(offset);
    if (!symbol.function_offset) {
        return resolve(image, offset);
    }
    symbol.name = nameless_text(image_display_name(image), symbol.function_offset);
    symbol.offset = *symbol.function_offset;
    return symbol;
}

void Symbolizer::resolve_all(const ImageDefinition& image, std::span<const std::uint64_t> offsets,
                             const std::function<void(SymbolRun)>& visitor) {
    ImageNames names{*tables_, image};
    while (!offsets.empty()) {
        Symbol symbol = names.at(offsets.front());
        const auto behind = std::upper_bound(offsets.begin() + 1, offsets.end(), symbol.last);
        const bool is_place = !symbol.resolved && symbol.name.empty();
        const auto count = static_cast<std::size_t>(behind - offsets.begin());
        offsets = offsets.subspan(count);
        visitor(
            {count, is_place ? image_display_name(image) : std::move(symbol.name), is_place, symbol.function_offset});
    }
}

std::string Symbolizer::place_name(std::string_view name, std::uint64_t offset) {
    char text[24];
    std::snprintf(text, sizeof(text), "+0x%llx", static_cast<unsigned long long>(offset));
    return std::string{name} + text;
}

std::string Symbolizer::nameless_text(const std::string& name, std::optional<std::uint64_t> function_offset) {
    const std::string place = function_offset ? place_name(name, *function_offset) : name;
    return place.starts_with('[') ? place : "[" + place + "]";
}

std::optional<SourceInName> Symbolizer::source_in_name(std::string_view name) {
    const std::size_t file = name.rfind(" (");
    const std::size_t colon = name.rfind(':');
    if (file == std::string_view::npos || colon == std::string_view::npos || colon < file) {
        return std::nullopt;
    }
    SourceInName source{name.substr(file + 2, colon - file - 2)};
    std::from_chars(name.data() + colon + 1, name.data() + name.size(), source.first_line);
    return source;
}

std::string Symbolizer::interpreted_line(const ImageDefinition& image, std::uint64_t offset) {
    const auto source = is_interpreted(image) ? source_in_name(image.name) : std::nullopt;
    return source ? std::string{source->file} + ":" + std::to_string(offset) : std::string{};
}

std::string Symbolizer::image_display_name(const ImageDefinition& image) {
    const std::string& name = image.name;
    if (name.empty()) {
        return "[unknown]";
    }
    if (is_run_time_function(image)) {
        if (const NamedFunction named = NamedFunction::in(name); !named.image.empty()) {
            return std::string{named.image};
        }
        // perf names a BPF program's image by its function.
        return is_interpreted(image)              ? std::string{kInterpretedImage}
               : has(image, image_flags::kKernel) ? name
                                                  : "[JIT]";
    }
    if (name.front() != '/' || name.starts_with("//")) {
        return name;
    }
    const std::size_t slash = name.find_last_of('/');
    std::string last = slash + 1 < name.size() ? name.substr(slash + 1) : name;
    // perf shows a module's file by its name in the kernel.
    if (has(image, image_flags::kKernelModule)) {
        if (const std::size_t dot = last.find(".ko"); dot != std::string::npos) {
            last.resize(dot);
            for (char& letter : last) {
                letter = letter == '-' ? '_' : letter;
            }
            return "[" + last + "]";
        }
    }
    return last;
}

SourceFrames& Symbolizer::source_frames() { return tables_->source_frames(); }

std::uint64_t Symbolizer::number_of_made(std::string name) { return tables_->number_of_made(std::move(name)); }

std::size_t Symbolizer::made_size_bytes() const { return tables_->made_size_bytes(); }

bool Symbolizer::is_missing(const ImageDefinition& image) const { return tables_->is_missing(image); }

void Symbolizer::withdraw_missing(const std::set<std::string>& names) { tables_->withdraw_missing(names); }

bool Symbolizer::asks_debuginfod() const { return tables_->asks_debuginfod(); }

std::vector<std::string> Symbolizer::warnings() const { return tables_->warnings(); }

}  // namespace perfleet
