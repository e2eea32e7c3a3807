// The images of a recording: the files of its mappings, with recorded build-ids; and their unwind tables, from files on
// this machine with the same build-id.
//
// One thread. Bounded as ImageTable is; a few kernels and kModulesMax modules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "schemas/vocabulary/time.h"
#include "target-collector/intake/perf-data/recorded_session.h"
#include "target-collector/intake/recording/recording_import.h"
#include "target-collector/process/image_table.h"
#include "target-collector/process/kernel_images.h"
#include "target-collector/process/unwind/unwind_table.h"
#include "target-collector/records/record_reader.h"

namespace perfleet {

class ReplayedImages {
public:
    // Borrows all arguments but the time.
    ReplayedImages(ImageTable& table, const RecordedSession& recording, UtcNs recorded_until,
                   const ProgramFiles& files);

    // Empty if the table is full. Data in memory without a file is one image for each name, and files of data aren't
    // read for a build-id.
    [[nodiscard]] std::optional<ImageIndex> image_of(const MapRecord& mapping, bool is_data);

    // Adds a mapping of the kernel, or of a module.
    void add_kernel(const MapRecord& mapping);
    // Adds or removes kernel code that was generated at run time: an image of one function.
    void take_kernel_symbol(const KernelSymbolRecord& symbol);
    // Whether it was recorded on this machine.
    [[nodiscard]] bool is_own_host() const { return is_own_host_; }
    [[nodiscard]] const KernelImages& kernel() const { return kernel_; }
    // The kernel's symbols if this machine has them, else empty.
    [[nodiscard]] const std::string& packed_kernel_symbols() const { return packed_kernel_symbols_; }

    // Functions that the recording itself names, by the content of their images (a build-id or a hash of it).
    [[nodiscard]] const std::map<std::string, std::string>& recorded_symbols() const { return recorded_symbols_; }

    [[nodiscard]] std::optional<UnwindTable> unwind_table_of(const Image& image) const;

    // Needed after a sweep of the table.
    void forget_images() { by_file_.clear(); }

private:
    [[nodiscard]] ImageContentId content_of(const MapRecord& mapping, bool is_data);
    void rebuild_kernel();
    void keep_recorded_symbols(std::string_view path, std::uint64_t kernel_start, ImageContentId& content);
    [[nodiscard]] ImageContentId content_of_own_file(const MapRecord& mapping) const;
    [[nodiscard]] bool is_own_kernel(std::string_view reference_symbol, std::uint64_t reference_address) const;
    void find_kernel_symbols(Image& kernel, std::string_view reference_symbol, std::uint64_t reference_address);

    ImageTable& table_;
    const RecordedSession& recording_;
    UtcNs recorded_until_;
    const ProgramFiles& files_;
    bool is_own_host_;
    std::map<std::tuple<std::string, std::uint64_t, std::string>, ImageIndex> by_file_;  // path, inode, build-id
    KernelImages kernel_;
    std::optional<Image> kernel_image_;
    std::map<std::uint64_t, Image> modules_;  // and functions that were generated at run time, by address
    unsigned kernel_count_ = 0;
    std::string packed_kernel_symbols_;
    std::map<std::string, std::string> recorded_symbols_;
};

}  // namespace perfleet
