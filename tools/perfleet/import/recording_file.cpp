#include "tools/perfleet/import/recording_file.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "schemas/text/utf8.h"
#include "tools/perfleet/import/perf-data/perf_data_import.h"
#include "tools/perfleet/import/perf-data/record_source.h"
#include "tools/perfleet/import/pprof/pprof_import.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {

namespace {

Result<std::string> format_of(const std::string& path, std::span<const std::byte> head) {
    const bool is_gzip = head.size() >= 2 && head[0] == std::byte{0x1f} && head[1] == std::byte{0x8b};
    if (!is_perf_data(head) && !is_gzip) {
        return Error{ErrorCode::kUsage, path +
                                            ": not a perf.data file, and no profile of pprof that gzip has "
                                            "compressed; perfleet import --format names other formats"};
    }
    return std::string{is_gzip ? kPprof : kPerfData};
}

}  // namespace

Result<RecordingFile> open_recording_file(const std::string& path, const std::string& format) {
    const auto check = [&](std::span<const std::byte> head) -> Result<Done> {
        PERFLEET_TRY(format_of(path, head));
        return Done{};
    };
    auto files = PERFLEET_TRY(open_recording(path, format == kPprof ? HeadCheck{} : check));
    std::string found = format.empty() ? PERFLEET_TRY(format_of(path, files.file.peek(sizeof(std::uint64_t)))) : format;
    return RecordingFile{path, std::move(found), std::move(files)};
}

Result<ImportedRecording> import_recording_file(RecordingFile file, const RecordingImport& options,
                                                SessionDestination& destination) {
    ProgressLine progress{"import"};
    auto imported = file.format == kPprof
                        ? import_pprof(file.files.file, options, destination)
                        : import_perf_data(std::move(file.files), options, destination, progress.report());
    progress.end();
    if (imported.ok()) {
        for (const std::string& warning : imported->warnings) {
            print_warning(file.path + ": " + printable(warning));
        }
    }
    return imported;
}

}  // namespace perfleet
