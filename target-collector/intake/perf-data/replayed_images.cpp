#include "target-collector/intake/perf-data/replayed_images.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "schemas/host/content_hash.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "schemas/perf/build_id.h"
#include "schemas/text/hex.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "target-collector/linux/host/packed_symbols.h"
#include "target-collector/linux/host/target_identity.h"
#include "target-collector/process/elf_note.h"
#include "target-collector/process/image_finder.h"
#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

constexpr std::string_view kVdso = "[vdso]";
constexpr std::string_view kKernel = "[kernel.kallsyms]";
constexpr std::size_t kKallsymsSizeBytesMax = 256U << 20;
// Modules and functions that were generated at run time; frames in further ones are kept by address.
constexpr std::size_t kModulesMax = 8'192;
constexpr unsigned kKernelsMax = 4;  // kernel mappings whose symbols are searched for

ImageContentId content_from(std::string_view build_id) {
    return ImageContentId::from(std::as_bytes(std::span{build_id}), false);
}

// The address of a symbol in /proc/kallsyms; 0: not found.
std::uint64_t address_in(std::string_view kallsyms, std::string_view name) {
    const std::string line_end = " " + std::string{name} + "\n";
    const std::size_t found = kallsyms.find(line_end);
    const std::size_t line = found == std::string_view::npos ? found : kallsyms.rfind('\n', found) + 1;
    const auto symbol = line == std::string_view::npos
                            ? std::nullopt
                            : parse_kallsyms_line(kallsyms.substr(line, found - line + line_end.size() - 1));
    return symbol ? symbol->address : 0;
}

std::string text_of(const std::string& path) {
    auto text = read_small_file(path, kKallsymsSizeBytesMax);
    return text.ok() ? std::move(*text) : std::string{};
}

// By device and generation, too: the numbers alone may be those of another host.
bool is_same_file(const MapRecord& mapping, const FileDescriptor& file, const struct statx& status) {
    long generation = 0;
    const bool has_generation = ::ioctl(file.get(), FS_IOC_GETVERSION, &generation) == 0;
    return status.stx_dev_major == mapping.device_major && status.stx_dev_minor == mapping.device_minor &&
           (!has_generation || static_cast<std::uint32_t>(generation) == mapping.inode_generation);
}

FileDescriptor open_to_read(const std::string& path) {
    return FileDescriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
}

// Status of a regular file.
std::optional<struct stat> status_of(const FileDescriptor& file) {
    struct stat status {};
    return file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) ? std::optional{status} : std::nullopt;
}

std::optional<UnwindTable> table_of(const ReadImage& read, std::uint64_t size_bytes) {
    auto table = UnwindTable::of_image(read, size_bytes);
    return table.ok() ? std::optional{std::move(*table)} : std::nullopt;
}

}  // namespace

ReplayedImages::ReplayedImages(ImageTable& table, const RecordedSession& recording, UtcNs recorded_until,
                               const ProgramFiles& files)
    : table_{table},
      recording_{recording},
      recorded_until_{recorded_until},
      files_{files},
      is_own_host_{recording.host_name == host_name() || recording.is_unfinished},
      kernel_{KernelImages::of({std::string{kKernel}, image_flags::kKernel, ~0ULL, 0, {}}, {})} {
    kernel_.intern(table_);
}

ImageContentId ReplayedImages::content_of(const MapRecord& mapping, bool is_data) {
    const auto reported = recording_.build_ids.find(mapping.path);
    ImageContentId content = !mapping.build_id.empty()                ? content_from(mapping.build_id)
                             : reported != recording_.build_ids.end() ? content_from(reported->second)
                             : is_data                                ? ImageContentId{}
                                                                      : content_of_own_file(mapping);
    keep_recorded_symbols(mapping.path, 0, content);
    return content;
}

// An image without a build-id gets a hash of its functions instead, by which the store finds them.
void ReplayedImages::keep_recorded_symbols(std::string_view path, std::uint64_t kernel_start, ImageContentId& content) {
    const auto recorded = recording_.symbols.find(path);
    if (recorded == recording_.symbols.end()) {
        return;
    }
    std::string text = recorded->second.text(path, kernel_start);
    if (text.empty()) {
        return;
    }
    if (content.size_bytes == 0) {
        ContentHash hash;
        hash.add(std::as_bytes(std::span{path}));
        hash.add(std::as_bytes(std::span{text}));
        content = ImageContentId::from(hash.value(), true);
    }
    recorded_symbols_.try_emplace(std::string{reinterpret_cast<const char*>(content.bytes.data()), content.size_bytes},
                                  std::move(text));
}

// perf records build-ids of files with samples of their own, not of files that occur only in call chains.
ImageContentId ReplayedImages::content_of_own_file(const MapRecord& mapping) const {
    if (!is_own_host_ || mapping.inode == 0 || !mapping.path.starts_with('/')) {
        return {};
    }
    const FileDescriptor file = open_to_read(std::string{mapping.path});
    struct statx status {};
    if (!file || ::statx(file.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) != 0 ||
        !S_ISREG(status.stx_mode) || status.stx_ino != mapping.inode) {
        return {};
    }
    if (recording_.is_unfinished && !is_same_file(mapping, file, status)) {
        return {};
    }
    // A hard link also changes the ctime: perf itself links each sampled file into its cache.
    const bool is_linked = status.stx_nlink > 1 && (status.stx_mask & STATX_BTIME) != 0;
    const struct statx_timestamp& made = is_linked ? status.stx_btime : status.stx_ctime;
    for (const struct statx_timestamp& time : {made, status.stx_mtime}) {
        if ((time.tv_sec * kNsPerSecond) + time.tv_nsec > recorded_until_.value) {
            return {};
        }
    }
    return content_id_of_file(file.get(), status.stx_size);
}

std::optional<ImageIndex> ReplayedImages::image_of(const MapRecord& mapping, bool is_data) {
    Image image;
    image.name = mapping.path;
    if (ImageFinder::is_without_file(mapping.path)) {
        image.name = mapping.path.empty() || mapping.path.starts_with("[anon") ? "//anon" : image.name;
        image.flags = image_flags::kAnonymous;
        image.address = is_data ? 0 : mapping.address;
        return table_.intern(std::move(image));
    }
    auto key = std::tuple{std::string{mapping.path}, mapping.inode, std::string{mapping.build_id}};
    if (const auto known = by_file_.find(key); known != by_file_.end()) {
        return known->second;
    }
    image.flags = image_flags::kFileOffset | (mapping.path == kVdso ? image_flags::kVdso : 0);
    image.content = content_of(mapping, is_data);
    image.flags |= image.content.is_hash ? image_flags::kContentHash : 0;
    const auto index = table_.intern(std::move(image));
    if (index && !is_data && by_file_.size() < limits::kImagesMax) {
        by_file_.emplace(std::move(key), *index);
    }
    return index;
}

// "[kernel.kallsyms]_text" at the address in file_offset: perf finds the offset between the recorded kernel and its
// symbols by that symbol.
void ReplayedImages::add_kernel(const MapRecord& mapping) {
    const std::string_view path = mapping.path;
    const bool is_kernel = path.starts_with("[kernel.") && path.find(']') != std::string_view::npos;
    if (is_kernel && kernel_count_ == kKernelsMax) {
        return;
    }
    if (is_kernel) {
        ++kernel_count_;
        Image kernel{std::string{kKernel}, image_flags::kKernel, mapping.address, mapping.size, {}};
        std::string_view build_id = mapping.build_id;
        for (const std::string_view name : {std::string_view{path.substr(0, path.find(']') + 1)}, kKernel}) {
            const auto told = recording_.build_ids.find(name);
            build_id =
                build_id.empty() && told != recording_.build_ids.end() ? std::string_view{told->second} : build_id;
        }
        kernel.content = content_from(build_id);
        if (build_id.empty() && is_own_kernel(path.substr(path.find(']') + 1), mapping.file_offset)) {
            kernel.content = KernelImages::own_content();
        }
        find_kernel_symbols(kernel, path.substr(path.find(']') + 1), mapping.file_offset);
        if (packed_kernel_symbols_.empty()) {
            keep_recorded_symbols(kKernel, kernel.address, kernel.content);
            kernel.flags |= kernel.content.is_hash ? image_flags::kContentHash : 0;
        }
        kernel_image_ = std::move(kernel);
    } else {
        const auto told = recording_.build_ids.find(path);
        if (modules_.size() == kModulesMax && !modules_.contains(mapping.address)) {
            return;
        }
        modules_.insert_or_assign(
            mapping.address,
            Image{std::string{path}, image_flags::kKernel | image_flags::kKernelModule, mapping.address, mapping.size,
                  content_from(!mapping.build_id.empty()            ? mapping.build_id
                               : told != recording_.build_ids.end() ? std::string_view{told->second}
                                                                    : std::string_view{})});
    }
    rebuild_kernel();
}

void ReplayedImages::rebuild_kernel() {
    std::vector<Image> modules;
    for (const auto& [address, module] : modules_) {
        modules.push_back(module);
    }
    kernel_ = KernelImages::of(kernel_image_.value_or(Image{std::string{kKernel}, image_flags::kKernel, ~0ULL, 0, {}}),
                               std::move(modules));
    kernel_.intern(table_);
}

void ReplayedImages::take_kernel_symbol(const KernelSymbolRecord& symbol) {
    modules_.erase(symbol.address);
    kernel_.remove_function(symbol.address);
    if (!symbol.is_removed && modules_.size() < kModulesMax) {
        const Image function = kernel_function(symbol.name, symbol.address, symbol.size);
        modules_.emplace(symbol.address, function);
        kernel_.put_function(function, table_);
    }
}

// Without a recorded build-id: uses the running kernel's if it is at the recorded kernel's address, which changes with
// every boot.
bool ReplayedImages::is_own_kernel(std::string_view reference_symbol, std::uint64_t reference_address) const {
    utsname system{};
    ::uname(&system);
    return is_own_host_ && (recording_.host.os_release == system.release || recording_.is_unfinished) &&
           reference_address != 0 && address_in(text_of("/proc/kallsyms"), reference_symbol) == reference_address;
}

void ReplayedImages::find_kernel_symbols(Image& kernel, std::string_view reference_symbol,
                                         std::uint64_t reference_address) {
    if (kernel.content.size_bytes == 0 || !packed_kernel_symbols_.empty()) {
        return;
    }
    std::string kallsyms;
    if (std::ranges::equal(KernelImages::own_content().view(), kernel.content.view())) {
        kallsyms = text_of("/proc/kallsyms");
    } else if (!files_.build_id_cache.empty()) {
        const std::string_view id{reinterpret_cast<const char*>(kernel.content.bytes.data()),
                                  kernel.content.size_bytes};
        kallsyms = text_of(files_.build_id_cache + "/" + std::string{kKernel} + "/" + hex_of(id) + "/kallsyms");
    }
    KernelLayout layout = read_kernel_layout(kallsyms);
    const std::uint64_t reference = address_in(kallsyms, reference_symbol);
    if (layout.start == 0 || reference == 0 || reference_address == 0) {
        return;
    }
    packed_kernel_symbols_ =
        packed_symbols(read_kernel_symbols(kallsyms, {{{}, layout.start, ~0ULL - layout.start}})[{}]);
    const std::uint64_t start = reference_address + (layout.start - reference);
    kernel.size = std::max(layout.size, kernel.address + kernel.size - std::min(start, kernel.address + kernel.size));
    kernel.address = start;
}

std::optional<UnwindTable> ReplayedImages::unwind_table_of(const Image& image) const {
    if ((image.flags & image_flags::kVdso) != 0) {
        const std::span<const std::byte> own = ImageFinder::own_vdso();
        if (own.empty() || !std::ranges::equal(build_id_in_memory(own), image.content.view())) {
            return std::nullopt;
        }
        return table_of(
            [own](std::uint64_t offset, std::span<std::byte> into) {
                if (offset > own.size() || into.size() > own.size() - offset) {
                    return false;
                }
                std::memcpy(into.data(), own.data() + offset, into.size());
                return true;
            },
            own.size());
    }
    for (const std::string& path : files_.paths_of ? files_.paths_of(image) : std::vector<std::string>{}) {
        const FileDescriptor file = open_to_read(path);
        const auto status = status_of(file);
        if (!status) {
            continue;
        }
        const auto size_bytes = static_cast<std::uint64_t>(status->st_size);
        const ImageContentId content = content_id_of_file(file.get(), size_bytes);
        const auto chars_of = [](const ImageContentId& id) {
            return std::string_view{reinterpret_cast<const char*>(id.bytes.data()), id.size_bytes};
        };
        if (!perf::is_same_build_id(chars_of(content), chars_of(image.content))) {
            continue;
        }
        const int fd = file.get();
        auto table = table_of([fd](std::uint64_t offset,
                                   std::span<std::byte> into) { return read_all_at(fd, offset, into) == into.size(); },
                              size_bytes);
        if (table) {
            return table;
        }
    }
    return std::nullopt;
}

}  // namespace perfleet
