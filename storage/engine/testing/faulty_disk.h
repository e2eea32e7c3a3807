// A disk that fails on demand under a RocksDB store, for the tests and for `perfleet-gateway-faulty`; never in a
// program that is shipped. Its faults are a plan (fault_plan.h); the same plan and the same calls give the same faults.
//
//   FaultyDisk disk{*parse_fault_plan("seed=7 sync=every:5")};
//   auto store = disk.open_store(directory);      // a store like open_store's, on this disk
//   … disk.set_plan(*parse_fault_plan("room=0")); // from now on full
//   disk.crash();                                  // the power goes: nothing reaches the disk any more, every change
//   fails store->reset(); store = disk.open_store(directory);            // what wasn't synced is lost as the plan
//   says; then it is opened
//
// The program, in build/<preset>/test-bin, is perfleet-gateway on such a disk. It reads its plan from the environment:
//   PERFLEET_FAULTS='seed=7 lose=sectors crash-at=900'  at the start
//   PERFLEET_FAULTS_FILE=PATH                           a file that holds a plan: looked at again before every change
//   of the
//                                                       disk, so replace it (by rename) to change the faults; it wins
// A `kill -9` of it (or its own crash-at, which is one) takes the power from the disk: its next start on the same
// folder begins with losing what wasn't synced. Until then the folder shows what was written, DIR.unsynced knows what
// would go. Nothing is really synced to the machine's disk, so it is fast, too.
//
// What it shows: bytes beyond the last sync of a file are lost by chance, torn at any byte (`cut`) or by sector
// (`sectors`, the write-ahead log only); files, renames and deletions are lost in reverse order until the last sync of
// their folder; a file whose sync failed once never becomes durable again, whatever later syncs say.
// What it doesn't show: damage to synced bytes; flip them in the files yourself.
//
// Threads: all methods at any time by any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/engine/testing/fault_plan.h"
#include "storage/store/options.h"
#include "storage/store/store.h"

namespace perfleet {

class FaultyDisk {
public:
    // When the power goes: every change of the disk fails from then on, or the process is killed.
    enum class Power : std::uint8_t { kFailsCalls, kKillsProcess };

    explicit FaultyDisk(const FaultPlan& plan, Power power = Power::kFailsCalls);
    FaultyDisk(const FaultyDisk&) = delete;
    FaultyDisk& operator=(const FaultyDisk&) = delete;
    ~FaultyDisk();

    void set_plan(const FaultPlan& plan);

    // Takes the plan from this file, again whenever it changes.
    void follow(const std::string& path);

    void crash();

    // Changes of the disk so far.
    [[nodiscard]] std::uint64_t change_count() const;

    // The power is on again. One store at a time, closed before the disk goes. Errors: as open_store.
    [[nodiscard]] Result<std::unique_ptr<Store>> open_store(const std::string& directory,
                                                            const StoreOptions& options = {});

    // What the implementation's parts share.
    struct State;

private:
    std::shared_ptr<State> state_;
};

// The store of PERFLEET_FAULTS and PERFLEET_FAULTS_FILE.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store_on_faulty_disk(const std::string& directory,
                                                                       const StoreOptions& options = {});

}  // namespace perfleet
