// Reads data from the files of mapped images, by an ImageReader, which may be another process.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "target-collector/process/image_finder.h"
#include "target-collector/process/image_table.h"
#include "target-collector/process/mapping_list.h"
#include "target-collector/process/stack_resolver.h"
#include "target-collector/source/linux/image/image_reader.h"

namespace perfleet {

class ImageFiles {
public:
    // The path is borrowed until it returns.
    using OnSampledFile = std::function<void(const MappedFile&, const ImageContentId&)>;

    // Borrowed. `on_sampled_file` may be empty.
    ImageFiles(const ImageTable& images, const ImageFinder& finder, ImageReader& reader, OnSampledFile on_sampled_file);

    // The table of an image as mapped by a process. Nothing: its file isn't reachable any more, isn't the mapped one,
    // or has no such data.
    [[nodiscard]] std::optional<UnwindTable> unwind_table(ImageIndex index, std::uint32_t pid, const Mapping& mapping);
    [[nodiscard]] std::optional<PythonSymbols> python_symbols(ImageIndex index, std::uint32_t pid,
                                                              const Mapping& mapping);
    [[nodiscard]] std::optional<ProbeDoorPlace> probe_door(std::uint32_t pid, const Mapping& mapping);

    // As the process has mapped it; inode 0: unknown.
    [[nodiscard]] MappedFile file_of(ImageIndex index, std::uint32_t pid, const Mapping& mapping) const;

    // Reports the files with frames of a sample, once for each content.
    void note_sampled(std::span<const ResolvedFrame> frames, std::uint32_t pid, const MappingList& mappings);
    // Images get new numbers from now on.
    void forget_images() { is_noted_.clear(); }

    // Process id of the reader; 0: this process, or not running.
    [[nodiscard]] std::uint32_t reader_pid() const { return reader_pid_; }

private:
    // Calls `read` with the open file; nothing if it can't be opened.
    template <class Read>
    [[nodiscard]] auto read_of(ImageIndex index, std::uint32_t pid, const Mapping& mapping, Read read);

    const ImageTable& images_;
    const ImageFinder& finder_;
    ImageReader& reader_;
    OnSampledFile on_sampled_file_;
    std::vector<bool> is_noted_;  // by image
    std::uint32_t reader_pid_;
};

}  // namespace perfleet
