#include "exporters/rows/exported_images.h"

#include <string_view>

#include "schemas/session/named_function.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

// The image of the mark at a truncated chain's outer end. It gets its own mapping, so that perf shows the name.
constexpr std::string_view kTruncatedPrefix = "[truncated: ";

ExportedImages::Place place_of(const ImageDefinition& image) {
    using Place = ExportedImages::Place;
    if ((image.flags & image_flags::kUnknown) != 0 || image.name.empty() || image.name == "[undefined]") {
        return image.name.starts_with(kTruncatedPrefix) ? Place::kProcess : Place::kUnknown;
    }
    if ((image.flags & image_flags::kKernel) != 0) {
        return Place::kKernel;
    }
    if ((image.flags & image_flags::kAnonymous) != 0 && image.address != 0) {
        return Place::kAnonymous;
    }
    return Place::kProcess;
}

}  // namespace

ExportedImage ExportedImages::add(const ImageDefinition& definition) {
    std::string key = definition.name;
    key += '\0';
    key += definition.build_id;
    key += '\0';
    key += std::to_string(definition.flags) + ' ' + std::to_string(definition.address) + ' ' +
           std::to_string(definition.size_bytes);
    const auto [entry, is_new] = numbers_.try_emplace(std::move(key), static_cast<ExportedImage>(images_.size()));
    if (is_new) {
        const bool is_hash = (definition.flags & image_flags::kContentHash) != 0;
        ImageDefinition shown = definition;
        if ((definition.flags & image_flags::kAnonymous) != 0 && definition.address == 0) {
            shown.name = NamedFunction::in(definition.name).function;
        }
        images_.push_back({std::move(shown), is_hash ? std::string{} : definition.build_id, place_of(definition)});
    }
    return entry->second;
}

}  // namespace perfleet
