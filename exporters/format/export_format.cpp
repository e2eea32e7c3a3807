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
    FORMAT(timeline)                    \
    FORMAT(script)

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

}  // namespace perfleet
