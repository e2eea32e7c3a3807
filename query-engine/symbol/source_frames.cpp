#include "query-engine/symbol/source_frames.h"

#include <elf.h>

#include <algorithm>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "query-engine/symbol/debuginfod.h"
#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/kept_symbols.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/session/named_function.h"
#include "schemas/text/hex.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/wire/protocol.h"

namespace perfleet {
namespace {

constexpr std::size_t kImagesMax = 1'024;  // that are remembered, with or without debug information
constexpr std::size_t kSourceWarningsMax = 64;

bool has_flag(const ImageDefinition& image, std::uint64_t flag) { return (image.flags & flag) != 0; }

std::uint32_t line_number(std::int64_t line) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(line, 0, std::numeric_limits<std::uint32_t>::max()));
}

bool has_debug_info(const ElfFile& file) {
    const auto section = file.find_section(".debug_info");
    return (section && file.sections()[*section].type != SHT_NOBITS) || file.find_section(".zdebug_info").has_value();
}

}  // namespace

class SourceFrames::Files {
public:
    Files(const StoreReader* store, SymbolPaths paths) : store_{store}, paths_{std::move(paths)} {}

    std::vector<std::vector<SourceFrame>> frames_at(const ImageDefinition& image,
                                                    std::span<const std::uint64_t> offsets) {
        std::vector<std::vector<SourceFrame>> frames(offsets.size());
        if (const auto sources = kept_sources(image)) {
            for (std::size_t i = 0; i < offsets.size(); ++i) {
                if (const KeptSources::Place* const place = sources->find(offsets[i])) {
                    frames[i] = {
                        {.function = {}, .file = sources->files[place->file], .line = line_number(place->line)}};
                }
            }
            return frames;
        }
        if (const NamedFunction named = NamedFunction::in(image.name);
            has_flag(image, image_flags::kAnonymous) && !named.file.empty()) {
            for (std::size_t i = 0; i < offsets.size(); ++i) {
                frames[i] = {{.function = {},
                              .file = std::string{named.file},
                              .line = line_of_offset(offsets[i]),
                              .first_line = named.first_line}};
            }
            return frames;
        }
        if (!has_flag(image, image_flags::kFileOffset) ||
            has_flag(image,
                     image_flags::kKernel | image_flags::kAnonymous | image_flags::kUnknown | image_flags::kVdso)) {
            return frames;
        }
        const std::lock_guard lock{mutex_};
        const Image& opened = open(image);
        if (opened.lines != nullptr) {
            for (std::size_t i = 0; i < offsets.size(); ++i) {
                if (const std::optional<std::uint64_t> address = address_of(opened.segments, offsets[i])) {
                    frames[i] = opened.lines->frames_at(*address);
                }
            }
        }
        return frames;
    }

    std::shared_ptr<const KeptSources> kept_sources(const ImageDefinition& image) {
        if (!has_made_names(image) || store_ == nullptr) {
            return nullptr;
        }
        const std::lock_guard lock{mutex_};
        const auto [known, is_new] = sources_.try_emplace(image.build_id);
        if (is_new) {
            known->second = read_sources(image);
        }
        auto found = known->second;
        if (sources_.size() > kImagesMax) {
            sources_.erase(sources_.begin());
        }
        return found;
    }

    std::vector<std::string> warnings() const {
        const std::lock_guard lock{mutex_};
        return {warnings_.begin(), warnings_.end()};
    }

private:
    struct Image {
        std::string key;
        std::unique_ptr<DebugLines> lines;  // null: there are none
        std::vector<ElfSegment> segments;   // of the file that ran
    };
    using FilePtr = std::unique_ptr<ElfFile>;

    std::shared_ptr<const KeptSources> read_sources(const ImageDefinition& image) {
        const auto content = store_->image(image.build_id);
        if (!content.ok() || !*content ||
            (*content)->type != static_cast<std::uint16_t>(protocol::ImageType::kKernelSymbols)) {
            return nullptr;
        }
        const auto text = unpacked_sources((*content)->bytes, image.name);
        auto sources = text.ok() ? parse_kept_sources(*text) : Result<KeptSources>{text.error()};
        if (!sources.ok()) {
            warn(image.name + ": " + sources.error().message);
            return nullptr;
        }
        return text->empty() ? nullptr : std::make_shared<const KeptSources>(*std::move(sources));
    }

    const Image& open(const ImageDefinition& image) {
        std::string key = image.name + '\0' + image.build_id;
        const auto known =
            std::find_if(images_.begin(), images_.end(), [&](const Image& one) { return one.key == key; });
        if (known != images_.end()) {
            images_.splice(images_.begin(), images_, known);
            return images_.front();
        }
        images_.push_front(find(image));
        images_.front().key = std::move(key);
        std::uint64_t size_bytes = 0;
        for (auto one = images_.begin(); one != images_.end();) {
            size_bytes += one->lines == nullptr ? 0 : one->lines->sections_size_bytes();
            const bool is_kept =
                one == images_.begin() || one->lines == nullptr || size_bytes <= kDebugSectionsSizeBytesMax;
            one = is_kept ? std::next(one) : images_.erase(one);
        }
        images_.resize(std::min(images_.size(), kImagesMax));
        return images_.front();
    }

    Image find(const ImageDefinition& image) {
        KeptSymbols kept;
        if (Image found; find_kept(image, kept, found)) {
            return found;
        }
        const std::string own_path = own_file_of(image, paths_);
        FilePtr running = open_if_of(own_path, image);
        std::vector<std::string> paths = symbol_files_of(image, paths_);
        if (running != nullptr) {
            const std::vector<std::string> linked = linked_debug_files_of(*running, image, paths_);
            paths.insert(paths.end(), linked.begin(), linked.end());
        } else {
            running = std::move(kept.file);
        }
        std::string debug_path;
        for (const std::string& path : paths) {
            FilePtr file = open_if_of(path, image);
            if (file == nullptr) {
                continue;
            }
            debug_path = debug_path.empty() && has_debug_info(*file) ? path : debug_path;
            running = running == nullptr && has_code(*file) ? std::move(file) : std::move(running);
        }
        if (debug_path.empty() && paths_.uses_debuginfod && has_debuginfod_urls() && !build_id_of(image).empty()) {
            debug_path = download(Debuginfod::File::kDebugInfo, image);
        }
        Image found;
        if (debug_path.empty()) {
            return found;
        }
        if (running == nullptr && paths_.uses_debuginfod && has_debuginfod_urls()) {
            running = open_if_of(download(Debuginfod::File::kExecutable, image), image);
        }
        if (running == nullptr) {
            return found;  // the place of its code is unknown
        }
        auto lines = DebugLines::open(debug_path, [&](const std::string& name, std::string_view build_id) {
            return find_shared(debug_path, name, build_id);
        });
        if (lines.ok()) {
            found.segments = running->segments();
            found.lines = std::move(lines).value();
        } else if (lines.error().code != ErrorCode::kNotFound) {
            warn(lines.error().message);
        }
        return found;
    }

    // False for a debug file: its code sections have no bytes.
    static bool has_code(const ElfFile& file) {
        const auto section = file.find_section(".text");
        return section && file.sections()[*section].type != SHT_NOBITS;
    }

    static FilePtr open_if_of(const std::string& path, const ImageDefinition& image) {
        auto file = path.empty() ? Result<FilePtr>{Error{ErrorCode::kNotFound, {}}} : ElfFile::open(path);
        if (!file.ok()) {
            return nullptr;
        }
        const bool is_of = has_flag(image, image_flags::kContentHash)
                               ? (*file)->build_id().empty() && (*file)->content_hash() == image.build_id
                               : (*file)->has_build_id(image.build_id);
        return is_of ? std::move(file).value() : nullptr;
    }

    // Opens what the store has of this build. True: `found` has its lines.
    bool find_kept(const ImageDefinition& image, KeptSymbols& kept, Image& found) {
        if (store_ == nullptr || image.build_id.empty()) {
            return false;
        }
        const auto content = store_->image(image.build_id);
        if (!content.ok() || !*content ||
            (*content)->type != static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols)) {
            return false;
        }
        auto symbols = open_kept_symbols((*content)->bytes, image.name);
        if (!symbols.ok() || symbols->file->build_id() != build_id_of(image)) {
            return false;
        }
        kept = std::move(*symbols);
        auto bytes = unpacked_lines((*content)->bytes, image.name);
        if (!bytes.ok() || bytes->empty()) {
            return false;
        }
        const auto file = ElfFile::from_memory(*bytes, image.name);
        if (!file.ok() || (*file)->build_id() != build_id_of(image)) {
            return false;
        }
        auto lines = DebugLines::of_memory(*std::move(bytes), image.name,
                                           [&](const std::string& name, std::string_view build_id) {
                                               return find_shared(image.name, name, build_id);
                                           });
        if (lines.ok()) {
            found.segments = kept.file->segments();
            found.lines = std::move(lines).value();
        }
        return lines.ok();
    }

    // Empty if no server has it.
    std::string download(Debuginfod::File kind, const ImageDefinition& image) {
        const auto path = debuginfod_.find(kind, build_id_of(image));
        if (!path.ok() && path.error().code != ErrorCode::kNotFound) {
            warn(path.error().message);
        }
        return path.ok() && open_if_of(*path, image) != nullptr ? *path : std::string{};
    }

    // The shared debug file, by build-id below the debug folders, or at the path in the file that refers to it.
    [[nodiscard]] std::string find_shared(const std::string& debug_path, const std::string& name,
                                          std::string_view build_id) {
        const std::string id = hex_of(build_id);
        std::vector<std::string> paths;
        for (const std::string& folder : paths_.debug_folders) {
            if (id.size() > 2) {
                paths.push_back(folder + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
            }
        }
        paths.push_back(name.starts_with('/') ? paths_.symfs + name
                                              : debug_path.substr(0, debug_path.rfind('/') + 1) + name);
        for (const std::string& path : paths) {
            if (auto file = ElfFile::open(path); file.ok() && (*file)->has_build_id(build_id)) {
                return path;
            }
        }
        warn(debug_path + ": names of inlined functions are missing: the file that it shares them with, " + name +
             ", isn't here");
        return {};
    }

    void warn(std::string text) {
        if (warnings_.size() < kSourceWarningsMax) {
            warnings_.insert(std::move(text));
        }
    }

    const StoreReader* store_;
    const SymbolPaths paths_;
    Debuginfod debuginfod_;
    mutable std::mutex mutex_;
    std::list<Image> images_;                                            // the last used one first
    std::map<std::string, std::shared_ptr<const KeptSources>> sources_;  // by build-id; null: none are kept
    std::set<std::string> warnings_;
};

SourceFrames::SourceFrames(const StoreReader* store, SymbolPaths paths)
    : files_{std::make_unique<Files>(store, std::move(paths))} {}

SourceFrames::~SourceFrames() = default;

std::vector<std::vector<SourceFrame>> SourceFrames::frames_at(const ImageDefinition& image,
                                                              std::span<const std::uint64_t> offsets) {
    auto frames = files_->frames_at(image, offsets);
    if (!image.file.empty()) {
        for (std::vector<SourceFrame>& of_one : frames) {
            for (SourceFrame& frame : of_one) {
                frame.file.erase(0, frame.file.rfind('/') + 1);
            }
        }
    }
    return frames;
}

std::shared_ptr<const KeptSources> SourceFrames::kept_sources(const ImageDefinition& image) {
    return files_->kept_sources(image);
}

std::vector<std::string> SourceFrames::warnings() const { return files_->warnings(); }

}  // namespace perfleet
