#include "query-engine/statistic/session/symbol_inventory.h"

#include <elf.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "query-engine/symbol/kept_symbols.h"
#include "schemas/text/hex.h"
#include "schemas/wire/protocol.h"

namespace perfleet {
namespace {

struct Image {
    std::set<std::size_t> sessions;
    std::uint64_t flags = 0;
};
using Images = std::map<std::pair<std::string, std::string>, Image>;  // by name and build-id

bool has_all(const std::unique_ptr<ElfFile>& file) {
    return file != nullptr && file->find_section(".symtab", SHT_SYMTAB).has_value();
}

// Which symbols of the build this content has: all, dynamic ones, or none if damaged.
std::string kind_of(const ImageContent& content, const std::string& name) {
    if (content.type == static_cast<std::uint16_t>(protocol::ImageType::kKernelSymbols)) {
        return unpacked_symbols(content.bytes, name).ok() ? "all" : "damaged";
    }
    const auto kept = open_kept_symbols(content.bytes, name);
    return !kept.ok() ? "damaged" : has_all(kept->file) || has_all(kept->debug_file) ? "all" : "dynamic";
}

bool has_lines(const ImageContent& content, const std::string& name) {
    const auto lines = unpacked_lines(content.bytes, name);
    return lines.ok() && !lines->empty();
}

Result<Images> images_of(const Scan& scan) {
    Images images;
    for (std::size_t session = 0; session < scan.sessions().size(); ++session) {
        for (const EpochNumber epoch : scan.sessions()[session].epochs) {
            const auto dictionary = PERFLEET_TRY(scan.dictionary(session, epoch, std::array{Kind::kImage}));
            for (std::uint32_t i = 0; i < dictionary->image_count(); ++i) {
                const ImageDefinition& image = dictionary->image(ImageNumber{i});
                if ((image.flags & (image_flags::kAnonymous | image_flags::kUnknown)) == 0 && !image.name.empty()) {
                    Image& place = images[{image.name, image.build_id}];
                    place.flags = image.flags;
                    place.sessions.insert(session);
                }
            }
        }
    }
    return images;
}

}  // namespace

Result<Answer> make_symbol_inventory(const Scan& scan) {
    Answer answer;
    answer.columns = {{"image", ""}, {"build_id", ""},  {"symbols", ""},
                      {"lines", ""}, {"size", "bytes"}, {"sessions", ""}};
    const auto images = PERFLEET_TRY(images_of(scan));
    for (const auto& [key, image] : images) {
        const auto& [name, build_id] = key;
        AnswerValue kind;
        AnswerValue lines;
        AnswerValue size;
        if (!build_id.empty()) {
            const auto content = PERFLEET_TRY(scan.store().image(build_id));
            if (content.has_value()) {
                kind = kind_of(*content, name);
                lines = has_lines(*content, name) ? AnswerValue{"yes"} : AnswerValue{};
                size = std::uint64_t{content->bytes.size()};
            }
        }
        answer.rows.push_back({name, build_id.empty() ? AnswerValue{} : AnswerValue{hex_of(build_id)}, kind, lines,
                               size, std::uint64_t{image.sessions.size()}});
    }
    return answer;
}

}  // namespace perfleet
