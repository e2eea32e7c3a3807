#include "target-collector/process/image_finder.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "schemas/vocabulary/kinds.h"
#include "target-collector/process/elf_note.h"
#include "target-collector/process/proc_reader.h"

namespace perfleet {
namespace {

constexpr std::string_view kVdsoPath = "[vdso]";
constexpr std::string_view kAnonymousPath = "//anon";

}  // namespace

ImageFinder::ImageFinder(ImageTable& table)
    : table_{table}, vdso_{ImageContentId::from(build_id_in_memory(own_vdso()), false)} {}

std::span<const std::byte> ImageFinder::own_vdso() {
    const auto start = static_cast<std::uint64_t>(::getauxval(AT_SYSINFO_EHDR));
    for (const ProcMapping& mapping : proc_mappings(static_cast<std::uint32_t>(::getpid()))) {
        if (start != 0 && mapping.start == start) {
            return {reinterpret_cast<const std::byte*>(start), static_cast<std::size_t>(mapping.end - mapping.start)};
        }
    }
    return {};
}

bool ImageFinder::is_without_file(std::string_view path) {
    return path != kVdsoPath && (path.empty() || path.front() == '[' || path == kAnonymousPath);
}

std::optional<ImageIndex> ImageFinder::find(const MappedFile& file) {
    Image image;
    image.name = file.path;
    if (is_without_file(file.path)) {
        if (file.path.empty() || file.path.starts_with("[anon")) {
            image.name = kAnonymousPath;
        }
        image.flags = image_flags::kAnonymous;
        image.address = file.start;
    } else if (file.path == kVdsoPath) {
        image.flags = image_flags::kVdso | image_flags::kFileOffset;
        image.content = vdso_;
    } else {
        image.flags = image_flags::kFileOffset;
        image.content = files_.of(file);
        if (image.content.is_hash) {
            image.flags |= image_flags::kContentHash;
        }
    }
    const auto index = table_.intern(std::move(image));
    if (index) {
        mapped_.resize(std::max<std::size_t>(mapped_.size(), *index + 1));
        mapped_[*index] = files_.as_read(file);
        mapped_[*index].path = {};
    }
    return index;
}

}  // namespace perfleet
