#include "tools/perfleet/import/recording_file.h"

#include <cstdint>
#include <utility>

#include "schemas/text/utf8.h"
#include "tools/perfleet/import/perf-data/perf_data_import.h"
#include "tools/perfleet/import/perf-data/record_source.h"
#include "tools/perfleet/import/pprof/pprof_import.h"
#include "tools/perfleet/progress_line.h"
#include "tools/perfleet/terminal.h"

namespace perfleet {

Result<RecordingFile> open_recording_file(const std::string& path, const std::string& format) {
    auto files = PERFLEET_TRY(open_recording(path));
    if (!format.empty()) {
        return RecordingFile{path, format, std::move(files)};
    }
    const auto head = files.file.peek(sizeof(std::uint64_t));
    const bool is_gzip = head.size() >= 2 && head[0] == std::byte{0x1f} && head[1] == std::byte{0x8b};
    if (!is_perf_data(head) && !is_gzip) {
        return Error{ErrorCode::kUsage, path +
                                            ": not a perf.data file, and no profile of pprof that gzip has "
                                            "compressed; perfleet import --format names other formats"};
    }
    return RecordingFile{path, is_gzip ? kPprof : kPerfData, std::move(files)};
}

Result<ImportedRecording> import_recording_file(RecordingFile file, const RecordingImport& options, Store& store) {
    ProgressLine progress{"import"};
    auto imported = file.format == kPprof ? import_pprof(file.files.file, options, store)
                                          : import_perf_data(std::move(file.files), options, store, progress.report());
    progress.end();
    if (imported.ok()) {
        for (const std::string& warning : imported->warnings) {
            print_warning(file.path + ": " + printable(warning));
        }
    }
    return imported;
}

}  // namespace perfleet
