#include "tools/perfleet/import/recording_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "schemas/pprof/pprof_profile.h"
#include "schemas/text/utf8.h"
#include "target-collector/intake/perf-data/perf_data_import.h"
#include "target-collector/intake/perf-data/record_source.h"
#include "target-collector/intake/pprof/pprof_import.h"
#include "tools/perfleet/import/imported_run.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {

namespace {

std::string_view chars_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// For text, the first bytes that a pipe brings may be too few.
bool is_text(std::span<const std::byte> head) {
    return std::ranges::all_of(chars_of(head.first(std::min<std::size_t>(head.size(), 512))),
                               [](char c) { return c < 0 || c >= ' ' || (c >= '\t' && c <= '\r') || c == '\x1b'; });
}

// The format by its first bytes: kPprof if it may be a profile.
Result<std::string> format_of(const std::string& path, std::span<const std::byte> head) {
    if (is_perf_data(head)) {
        return std::string{kPerfData};
    }
    if (std::string format = benchmark_format_of(chars_of(head)); !format.empty()) {
        return format;
    }
    if (is_legacy_profile(chars_of(head))) {
        return Error{ErrorCode::kUnsupported,
                     path +
                         ": a profile in pprof's old form, from before it was protobuf; `pprof -proto -output "
                         "profile.pb.gz " +
                         path + "` converts it"};
    }
    if (may_be_profile(chars_of(head))) {
        return std::string{kPprof};
    }
    return Error{
        ErrorCode::kUsage,
        path + ": not a perf.data file, and no profile of pprof; perfleet import --format names other formats"};
}

}  // namespace

Result<RecordingFile> open_recording_file(const std::string& path, const std::string& format) {
    const auto check = [&](std::span<const std::byte> head) -> Result<Done> {
        return is_text(head) ? Result<Done>{Done{}} : [&]() -> Result<Done> {
            PERFLEET_TRY(format_of(path, head));
            return Done{};
        }();
    };
    auto files = PERFLEET_TRY(open_recording(path, format == kPprof ? HeadCheck{} : check));
    const auto head = files.file.peek(FileBytes::kBufferSizeBytes);
    std::string found = format.empty() ? PERFLEET_TRY(format_of(path, head)) : format;
    return RecordingFile{path, std::move(found), std::move(files)};
}

Result<ImportedRecording> import_recording_file(RecordingFile file, const RecordingImport& options,
                                                SessionDestination& destination) {
    auto imported = with_progress("import", [&](const ProgressReport& report) {
        return file.format == kPprof ? import_pprof(file.files.file, options, destination)
                                     : import_perf_data(std::move(file.files), options, destination, report);
    });
    if (imported.ok()) {
        for (const std::string& warning : imported->warnings) {
            print_warning(file.path + ": " + printable(warning));
        }
    }
    return imported;
}

}  // namespace perfleet
