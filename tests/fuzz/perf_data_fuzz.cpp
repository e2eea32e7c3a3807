// perf.data files, imported into a store: rows as the gateway admits them, each sample stored or counted as lost.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "schemas/vocabulary/assert.h"
#include "storage/store/memory_store.h"
#include "target-collector/intake/perf-data/perf_data_import.h"
#include "tests/fuzz/fuzz_input.h"
#include "tools/perfleet/import/program_files.h"
#include "tools/perfleet/import/session/stored_session_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    const int fd = ::memfd_create("perf.data", MFD_CLOEXEC);
    PERFLEET_ASSERT(fd >= 0 && ::write(fd, data, size_bytes) == static_cast<ssize_t>(size_bytes));
    auto file = open_recording("/proc/self/fd/" + std::to_string(fd));
    ::close(fd);
    PERFLEET_ASSERT(file.ok());
    const auto store = make_memory_store();
    RecordingImport options;
    options.target_name = "fuzzed";
    options.start = UtcNs{1'700'000'000'000'000'000};
    options.now = UtcNs{4'000'000'000'000'000'000};
    options.files = program_files({});
    StoreDestination destination{*store};
    const auto imported = import_perf_data(std::move(*file), options, destination);
    if (imported.ok()) {
        PERFLEET_ASSERT(imported->has_end && imported->batches_there == 0);
    } else {
        // Whatever was read is refused by name, never by the admission of rows.
        PERFLEET_ASSERT(imported.error().code != ErrorCode::kCorrupt && !imported.error().message.empty());
    }
    return 0;
}
