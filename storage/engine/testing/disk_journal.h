// The unsynced state of a disk under test: which bytes and which names of a folder would be lost with the power.
//
// Stands beside the folder (DIR.unsynced), so that it outlives a killed process as the page cache does. Changes are
// written down before they are made, syncs after. Errors: a failure to record stops the process, because a test would
// show nothing then. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/engine/testing/fault_plan.h"

namespace perfleet {

class DiskJournal {
public:
    // Takes the power from the folder if that hasn't been done since the last journal (see lose_unsynced), and begins
    // anew: everything that is there now is durable. Errors: kBusy (somebody else writes the folder's journal), kIo.
    [[nodiscard]] static Result<std::unique_ptr<DiskJournal>> begin(const std::string& directory,
                                                                    const FaultPlan& plan);
    DiskJournal(const DiskJournal&) = delete;
    DiskJournal& operator=(const DiskJournal&) = delete;
    ~DiskJournal();

    // Names of files are without their folder. `held` is what hold() gave, or empty.
    void create(const std::string& name);
    void rename(const std::string& from, const std::string& to, const std::string& held);
    void remove(const std::string& name, const std::string& held);
    void synced(const std::string& name, std::uint64_t size_bytes);
    void folder_synced();

    // A path where a file can be kept that a crash might bring back.
    [[nodiscard]] std::string hold();

private:
    DiskJournal(std::string folder, int lock_fd, int journal_fd);
    void write(const std::string& line);

    std::string folder_;
    int lock_fd_;
    int journal_fd_;
    std::uint64_t held_count_ = 0;
};

}  // namespace perfleet
