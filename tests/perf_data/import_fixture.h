// What tests of imports share: a perf.data file, or a folder of them, on its way into the store that ExportTest
// exports.
#pragma once

#include <string>
#include <utility>

#include "target-collector/intake/perf-data/perf_data_import.h"
#include "tests/perf_data/export_fixture.h"
#include "tools/perfleet/import/program_files.h"
#include "tools/perfleet/import/session/stored_session_writer.h"

namespace perfleet {

class ImportTest : public ExportTest {
protected:
    Result<ImportedRecording> imported(const RecordingImport& options = {}, const std::string& name = "in.data") {
        auto files = PERFLEET_TRY(open_recording(path(name)));
        RecordingImport own = options;
        own.files = program_files({});
        if (own.now == UtcNs{}) {
            own.now = UtcNs{4'000'000'000'000'000'000};
        }
        StoreDestination destination{*store_};
        return import_perf_data(std::move(files), own, destination);
    }
};

}  // namespace perfleet
