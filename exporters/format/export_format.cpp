#include "exporters/format/export_format.h"

#include <algorithm>

namespace perfleet {

// One line a format, in the order of help. NAME_format() is declared in the format's folder.
#define PERFLEET_EXPORT_FORMATS(FORMAT) \
    FORMAT(perf_data)                   \
    FORMAT(folded)                      \
    FORMAT(html)                        \
    FORMAT(pprof)                       \
    FORMAT(go_pgo)                      \
    FORMAT(bolt)                        \
    FORMAT(llvm_sample)                 \
    FORMAT(speedscope)                  \
    FORMAT(firefox)                     \
    FORMAT(perfetto)                    \
    FORMAT(otlp)                        \
    FORMAT(timeline)                    \
    FORMAT(script)                      \
    FORMAT(otlp_requests)

#define PERFLEET_DECLARE_FORMAT(name) ExportFormat name##_format();
PERFLEET_EXPORT_FORMATS(PERFLEET_DECLARE_FORMAT)

std::span<const ExportFormat> export_formats() {
#define PERFLEET_MAKE_FORMAT(name) name##_format(),
    static const std::vector<ExportFormat> kFormats{PERFLEET_EXPORT_FORMATS(PERFLEET_MAKE_FORMAT)};
    return kFormats;
}

const ExportFormat* find_export_format(std::string_view name) {
    const auto formats = export_formats();
    const auto found =
        std::find_if(formats.begin(), formats.end(), [&](const auto& format) { return format.name == name; });
    return found == formats.end() ? nullptr : &*found;
}

namespace {

struct FileSuffix {
    std::string_view suffix;
    std::string_view format;
};

// Longer ones first. The first of a format ends its default name.
constexpr FileSuffix kFileSuffixes[] = {{".speedscope.json", "speedscope"},
                                        {".json.gz", "firefox"},
                                        {".json", "firefox"},
                                        {".pb.gz", "pprof"},
                                        {".folded", "folded"},
                                        {".otlp", "otlp"},
                                        {".html", "html"},
                                        {".svg", "html"},
                                        {".png", "html"},
                                        {".data", "perf.data"}};

}  // namespace

const ExportFormat* format_of_file(std::string_view file) {
    for (const auto& [suffix, format] : kFileSuffixes) {
        if (file.ends_with(suffix)) {
            return find_export_format(format);
        }
    }
    return nullptr;
}

std::string file_names_text() {
    std::string text;
    for (const auto& [suffix, format] : kFileSuffixes) {
        text += (text.empty() ? "" : ", ") + std::string{suffix} + " (" + std::string{format} + ")";
    }
    return text;
}

std::string file_name_for(const ExportFormat& format) {
    const auto* const known = std::ranges::find(kFileSuffixes, format.name, &FileSuffix::format);
    return known == std::end(kFileSuffixes) ? "profile." + format.name
           : format.name == "perf.data"     ? format.name
                                            : "profile" + std::string{known->suffix};
}

Result<Done> follow_file_name(const ExportFormat& format, const std::string& file, OptionValues& values) {
    if (format.name == "firefox" && file.ends_with(".json")) {
        values["uncompressed"] = true;
    }
    for (const char* const figure : {"svg", "png"}) {
        if (format.name == "html" && file.ends_with(std::string{"."} + figure)) {
            values.try_emplace("as", std::string{figure});
        }
    }
    if (format.name == "html" && file.ends_with(".pdf")) {
        return Error{ErrorCode::kUsage, "-o " + file + ": a flame graph is a page or a picture: FILE.html, .svg, .png"};
    }
    return Done{};
}

}  // namespace perfleet
