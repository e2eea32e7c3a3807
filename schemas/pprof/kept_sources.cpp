#include "schemas/pprof/kept_sources.h"

#include "schemas/text/parse.h"

namespace perfleet {

const KeptSources::Place* KeptSources::find(std::uint64_t offset) const {
    const std::uint64_t number = offset / kKeptPlaceSizeBytes + (offset % kKeptPlaceSizeBytes != 0 ? 1 : 0);
    return number < places.size() ? &places[number] : nullptr;
}

std::string kept_sources_text(const KeptSources& sources) {
    std::string text;
    for (std::size_t i = 1; i < sources.files.size(); ++i) {
        text += "f" + sources.files[i] + "\n";
    }
    for (const KeptSources::Place& place : sources.places) {
        text += "p" + std::to_string(place.file) + " " + std::to_string(place.line) + "\n";
    }
    return text;
}

Result<KeptSources> parse_kept_sources(std::string_view text_untrusted) {
    KeptSources sources;
    while (!text_untrusted.empty()) {
        std::string_view line = take_part(text_untrusted, '\n');
        const char type = line.empty() ? '\0' : line.front();
        line.remove_prefix(line.empty() ? 0 : 1);
        if (type == 'f') {
            sources.files.emplace_back(line);
            continue;
        }
        KeptSources::Place place;
        if (type != 'p' || !take_number(line, place.file, ' ') || !take_number(line, place.line, ' ') ||
            !line.empty() || place.file >= sources.files.size()) {
            return Error{ErrorCode::kCorrupt, "its places in files of source can't be read"};
        }
        sources.places.push_back(place);
    }
    return sources;
}

}  // namespace perfleet
