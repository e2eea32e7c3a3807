#include "target-collector/source/linux/process_scan.h"

#include <utility>

#include "target-collector/process/proc_reader.h"

namespace perfleet {

void ProcessScan::read_all(ProcessTable& into) const {
    into.name_thread(0, 0, "swapper");
    read(proc_pids(), into);
}

void ProcessScan::read(std::span<const std::uint32_t> pids, ProcessTable& into) const {
    for (const std::uint32_t pid : pids) {
        if (pid == skipped_pid) {
            continue;
        }
        for (const ProcThread& thread : proc_threads(pid)) {
            into.name_thread(pid, thread.tid, thread.name);
        }
        MappingList mappings;
        for (const ProcMapping& found : proc_mappings(pid)) {
            const auto image = finder.find({pid, found.start, found.end, found.path, found.device_major,
                                            found.device_minor, found.inode, std::nullopt, 0});
            const bool has_file = !ImageFinder::is_without_file(found.path);
            mappings.add({found.start, found.end, has_file ? found.file_offset : 0, image.value_or(unknown_image),
                          found.protection, found.flags});
        }
        if (!mappings.mappings().empty()) {
            const auto start = proc_code_start(pid);
            into.set_mappings(pid, std::move(mappings), start ? CodeStart{*start, *start + 1} : CodeStart{0, ~0ULL});
        }
    }
}

}  // namespace perfleet
