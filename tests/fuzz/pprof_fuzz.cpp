// Profiles of pprof's format, imported into a store: rows as the gateway admits them.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "schemas/vocabulary/assert.h"
#include "storage/store/memory_store.h"
#include "target-collector/intake/pprof/pprof_import.h"
#include "tests/fuzz/fuzz_input.h"
#include "tools/perfleet/import/session/stored_session_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    const int fd = ::memfd_create("profile", MFD_CLOEXEC);
    PERFLEET_ASSERT(fd >= 0 && ::write(fd, data, size_bytes) == static_cast<ssize_t>(size_bytes));
    const auto file = FileBytes::open("/proc/self/fd/" + std::to_string(fd));
    ::close(fd);
    PERFLEET_ASSERT(file.ok());
    const auto store = make_memory_store();
    RecordingImport options;
    options.target_name = "fuzzed";
    options.start = UtcNs{1'700'000'000'000'000'000};
    options.now = UtcNs{4'000'000'000'000'000'000};
    StoreDestination destination{*store};
    const auto imported = import_pprof(*file, options, destination);
    PERFLEET_ASSERT(imported.ok() ? imported->has_end : !imported.error().message.empty());
    return 0;
}
