#include "query-engine/symbol/kept_sources.h"

#include <charconv>
#include <iterator>

#include "schemas/text/parse.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

// Words of a line, each after a blank.
class Words {
public:
    explicit Words(std::string_view line) : rest_{line} {}

    template <class Number>
    [[nodiscard]] Number number(int base) {
        Number value{};
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
        is_good_ = is_good_ && error == std::errc{};
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        if (!rest_.empty()) {
            is_good_ = is_good_ && rest_.front() == ' ';
            rest_.remove_prefix(1);
        }
        return value;
    }
    [[nodiscard]] bool is_good() const { return is_good_; }
    [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

private:
    std::string_view rest_;
    bool is_good_ = true;
};

void append_number(std::string& text, std::uint64_t value, int base) {
    char digits[20];
    text.append(digits, std::to_chars(std::begin(digits), std::end(digits), value, base).ptr);
}

}  // namespace

const KeptSources::Place* KeptSources::find(std::uint64_t offset) const {
    const std::uint64_t number = offset / kKeptPlaceSizeBytes + (offset % kKeptPlaceSizeBytes != 0 ? 1 : 0);
    return number < places.size() ? &places[number] : nullptr;
}

bool has_made_names(const ImageDefinition& image) {
    return (image.flags & image_flags::kContentHash) != 0 && (image.flags & image_flags::kFileOffset) == 0 &&
           !image.build_id.empty();
}

std::string kept_sources_text(const KeptSources& sources) {
    std::string text = "b" + sources.build_id + "\nm";
    append_number(text, sources.start, 16);
    append_number(text += ' ', sources.limit, 16);
    append_number(text += ' ', sources.file_offset, 16);
    append_number(text += ' ', sources.flags, 16);
    text += '\n';
    for (const std::string& comment : sources.comments) {
        text += 'c';
        for (const char letter : comment) {
            text += letter;
            text += letter == '\n' ? "C" : "";  // starts the comment's next line
        }
        text += '\n';
    }
    text += sources.drop_frames.empty() ? "" : "d" + sources.drop_frames + "\n";
    text += sources.keep_frames.empty() ? "" : "k" + sources.keep_frames + "\n";
    for (std::size_t i = 1; i < sources.files.size(); ++i) {
        text += "f" + sources.files[i] + "\n";
    }
    for (const KeptSources::Place& place : sources.places) {
        text += place.is_inlined ? 'i' : 'p';
        append_number(text, place.address, 16);
        append_number(text += ' ', place.file, 10);
        text += ' ' + std::to_string(place.line);
        if (place.column != 0 || place.first_line != 0) {
            text += ' ' + std::to_string(place.column) + ' ' + std::to_string(place.first_line);
        }
        text += '\n';
    }
    return text;
}

Result<KeptSources> parse_kept_sources(std::string_view text_untrusted) {
    KeptSources sources;
    bool is_good = true;
    while (is_good && !text_untrusted.empty()) {
        const std::string_view line = take_part(text_untrusted, '\n');
        const char type = line.empty() ? '\0' : line.front();
        Words words{line.substr(line.empty() ? 0 : 1)};
        switch (type) {
            case 'b': sources.build_id = line.substr(1); break;
            case 'm':
                sources.start = words.number<std::uint64_t>(16);
                sources.limit = words.number<std::uint64_t>(16);
                sources.file_offset = words.number<std::uint64_t>(16);
                sources.flags = words.number<std::uint32_t>(16);
                break;
            case 'c': sources.comments.emplace_back(line.substr(1)); break;
            case 'C':
                is_good = !sources.comments.empty();
                if (is_good) {
                    sources.comments.back().append("\n").append(line.substr(1));
                }
                break;
            case 'd': sources.drop_frames = line.substr(1); break;
            case 'k': sources.keep_frames = line.substr(1); break;
            case 'f': sources.files.emplace_back(line.substr(1)); break;
            case 'i':
            case 'p': {
                KeptSources::Place& place = sources.places.emplace_back();
                place.is_inlined = type == 'i';
                place.address = words.number<std::uint64_t>(16);
                place.file = words.number<std::uint32_t>(10);
                place.line = words.number<std::int64_t>(10);
                if (!words.is_at_end()) {
                    place.column = words.number<std::int64_t>(10);
                    place.first_line = words.number<std::int64_t>(10);
                }
                is_good = place.file < sources.files.size();
                break;
            }
            default: is_good = false;
        }
        is_good = is_good && words.is_good();
    }
    return is_good ? Result<KeptSources>{std::move(sources)}
                   : Error{ErrorCode::kCorrupt, "its places in files of source can't be read"};
}

}  // namespace perfleet
