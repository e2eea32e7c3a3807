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
    std::string_view other = {};  // its files may be named so, too
};

// Longer ones first. The first of a format ends its default name.
constexpr FileSuffix kFileSuffixes[] = {{".speedscope.json", "speedscope"},
                                        {".json.gz", "firefox"},
                                        {".json", "firefox", "speedscope"},
                                        {".pb.gz", "pprof", "go-pgo"},
                                        {".folded", "folded"},
                                        {".otlp", "otlp"},
                                        {".html", "html"},
                                        {".svg", "html"},
                                        {".png", "html"},
                                        {".data", "perf.data"}};

const FileSuffix* suffix_of(std::string_view file) {
    const auto* const found =
        std::ranges::find_if(kFileSuffixes, [&](const FileSuffix& one) { return file.ends_with(one.suffix); });
    return found == std::end(kFileSuffixes) ? nullptr : found;
}

bool may_have(const ExportFormat& format, const FileSuffix& suffix) {
    const bool is_page_or_figure = suffix.format == "html" || suffix.suffix == ".json";
    return suffix.format == format.name || suffix.other == format.name ||
           (is_page_or_figure && find_option(format.options, "as") != nullptr);
}

}  // namespace

const ExportFormat* format_of_file(std::string_view file) {
    const FileSuffix* const suffix = suffix_of(file);
    return suffix == nullptr ? nullptr : find_export_format(suffix->format);
}

std::string file_names_text() {
    std::string text;
    for (const auto& [suffix, format, other] : kFileSuffixes) {
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
    if (const FileSuffix* const suffix = suffix_of(file); suffix != nullptr && !may_have(format, *suffix)) {
        return Error{ErrorCode::kUsage, "-o " + file + ": the name is for " + std::string{suffix->format} + " (" +
                                            std::string{suffix->suffix} + "), and --to is " + format.name +
                                            ": change one of them"};
    }
    return Done{};
}

}  // namespace perfleet
