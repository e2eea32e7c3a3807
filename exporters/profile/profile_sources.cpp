#include "exporters/profile/profile_sources.h"

#include <map>
#include <tuple>
#include <utility>

#include "query-engine/symbol/demangle.h"
#include "query-engine/symbol/source_frames.h"

namespace perfleet {

ProfileSources::ProfileSources(const ProfileTables& tables, Symbolizer& symbolizer, QueryMemory& memory)
    : share_{memory} {
    constexpr std::size_t kFunctionSizeBytes = 160;  // with its number, about
    std::vector<bool> is_caller(tables.locations().size());
    for (const ProfileNode& node : tables.nodes()) {
        if (node.caller != 0) {
            is_caller[tables.nodes()[node.caller].location] = true;
        }
    }
    std::vector<std::vector<std::uint32_t>> locations(tables.images().size());  // by image
    for (std::uint32_t i = 0; i < tables.locations().size(); ++i) {
        locations[tables.locations()[i].image].push_back(i);
    }
    std::vector<std::vector<SourceFrame>> frames(tables.locations().size());
    for (std::size_t image = 0; image < locations.size(); ++image) {
        std::vector<std::uint64_t> offsets;
        for (const std::uint32_t location : locations[image]) {
            const std::uint64_t offset = tables.locations()[location].offset;
            offsets.push_back(offset - (is_caller[location] && offset > 0 ? 1 : 0));
        }
        auto found = symbolizer.source_frames().frames_at(tables.images()[image].definition, offsets);
        for (std::size_t i = 0; i < found.size(); ++i) {
            frames[locations[image][i]] = std::move(found[i]);
        }
    }
    std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint32_t> numbers;
    const auto add = [&](std::string name, const SourceFrame& frame) {
        const auto [known, is_new] = numbers.try_emplace({std::move(name), frame.file, frame.first_line},
                                                         static_cast<std::uint32_t>(functions_.size()));
        if (is_new) {
            functions_.push_back({std::get<0>(known->first), frame.file, frame.first_line});
            share_.add(kFunctionSizeBytes + 2 * (functions_.back().name.size() + frame.file.size()));
        }
        lines_.push_back({known->second, frame.line});
    };
    for (std::uint32_t i = 0; i < tables.locations().size(); ++i) {
        begins_.push_back(lines_.size());
        for (std::size_t inner = 0; inner + 1 < frames[i].size(); ++inner) {
            const SourceFrame& frame = frames[i][inner];
            add(demangled_name(frame.function.empty() ? "[unknown]" : frame.function), frame);
        }
        SourceFrame own = frames[i].empty() ? SourceFrame{} : frames[i].back();
        const std::string& name = tables.functions()[tables.locations()[i].function].name;
        if (tables.images()[tables.locations()[i].image].name == Symbolizer::kInterpretedImage) {
            if (const auto source = Symbolizer::source_in_name(name)) {
                own.file = source->file;
                own.line = static_cast<std::uint32_t>(tables.locations()[i].offset);
            }
        }
        if (tables.functions()[tables.locations()[i].function].has_symbol) {
            add(name, own);
        }
    }
    begins_.push_back(lines_.size());
}

}  // namespace perfleet
