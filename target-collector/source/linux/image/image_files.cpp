#include "target-collector/source/linux/image/image_files.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "schemas/vocabulary/kinds.h"

namespace perfleet {

ImageFiles::ImageFiles(const ImageTable& images, const ImageFinder& finder, ImageReader& reader,
                       OnSampledFile on_sampled_file)
    : images_{images},
      finder_{finder},
      reader_{reader},
      on_sampled_file_{std::move(on_sampled_file)},
      reader_pid_{static_cast<std::uint32_t>(reader.pid())} {}

MappedFile ImageFiles::file_of(ImageIndex index, std::uint32_t pid, const Mapping& mapping) const {
    MappedFile file = finder_.file_of(index);
    file.pid = pid;
    file.start = mapping.start;
    file.end = mapping.end;
    file.path = images_.at(index).name;
    return file;
}

template <class Read>
auto ImageFiles::read_of(ImageIndex index, std::uint32_t pid, const Mapping& mapping, Read read) {
    const MappedFile mapped = file_of(index, pid, mapping);
    const FileDescriptor file = mapped.inode == 0 ? FileDescriptor{} : FileContents::open(mapped);
    auto found = file ? read(file.get()) : decltype(read(0)){};
    reader_pid_ = static_cast<std::uint32_t>(reader_.pid());
    return found;
}

std::optional<UnwindTable> ImageFiles::unwind_table(ImageIndex index, std::uint32_t pid, const Mapping& mapping) {
    const auto table_of = [](Result<UnwindTable> table) {
        return table.ok() ? std::optional{std::move(*table)} : std::nullopt;
    };
    if ((images_.at(index).flags & image_flags::kVdso) == 0) {
        return read_of(index, pid, mapping, [&](int fd) { return table_of(reader_.unwind_table(fd)); });
    }
    const auto vdso = ImageFinder::own_vdso();
    const std::uint64_t size_bytes = mapping.end - mapping.start;
    if (mapping.file_offset != 0 || vdso.size() < size_bytes) {
        return std::nullopt;
    }
    const auto read = [vdso](std::uint64_t offset, std::span<std::byte> into) {
        std::memcpy(into.data(), vdso.data() + offset, into.size());
        return true;
    };
    return table_of(UnwindTable::of_image(read, size_bytes));
}

std::optional<PythonSymbols> ImageFiles::python_symbols(ImageIndex index, std::uint32_t pid, const Mapping& mapping) {
    return read_of(index, pid, mapping, [&](int fd) { return reader_.python_symbols(fd); });
}

std::optional<ProbeDoorPlace> ImageFiles::probe_door(std::uint32_t pid, const Mapping& mapping) {
    return read_of(mapping.image, pid, mapping, [&](int fd) { return reader_.probe_door(fd, mapping.file_offset); });
}

void ImageFiles::note_sampled(std::span<const ResolvedFrame> frames, std::uint32_t pid, const MappingList& mappings) {
    if (!on_sampled_file_) {
        return;
    }
    is_noted_.resize(images_.place_count());
    for (const ResolvedFrame& frame : frames) {
        if (is_noted_[frame.image]) {
            continue;
        }
        is_noted_[frame.image] = true;
        const ImageContentId& content = images_.at(frame.image).content;
        const auto all = mappings.mappings();
        const auto mapping = std::ranges::find(all, frame.image, &Mapping::image);
        if (content.size_bytes == 0 || mapping == all.end()) {
            continue;
        }
        if (const MappedFile file = file_of(frame.image, pid, *mapping); file.inode != 0) {
            on_sampled_file_(file, content);
        }
    }
}

}  // namespace perfleet
