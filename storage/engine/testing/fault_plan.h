// What a disk under test does wrong, as text: for the tests and the test build of the gateway; not for programs.
//
// A plan is words, separated by blanks, line ends or `;`. What isn't named is healthy:
//   seed=N                     for everything that is left to chance; default 1
//   files=log,table,manifest,other
//                              the files that `sync` and `write` are about; default all. `log` is the write-ahead log.
//   sync=WHEN  write=WHEN      such calls fail with an I/O error. WHEN: ok, once, always, every:N (each Nth), after:N
//   (all
//                              after N good ones). Counted from the moment at which the plan is set.
//   room=N                     N bytes fit on the disk, then it is full; files that are deleted give theirs back.
//                              `room=any` (the default): no bound
//   crash-at=N                 the power goes at the Nth change of the disk (append, sync, create, rename, delete)
//   lose=WHAT                  what the next opening does to bytes that were not synced when the power went: `cut`
//   (default:
//                              each file keeps a part of them, cut at any byte), `all` (keeps none), `sectors` (as cut,
//                              and some sectors of the write-ahead log read as zeros), `none`
//   break=RULE                 the store is built wrongly: ack-before-sync, key-without-seq, watermark-before-rows;
//   `none`.
//                              Read when the store is opened
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct FaultPlan {
    struct When {
        enum class Type : std::uint8_t { kNever, kOnce, kAlways, kEvery, kAfter };
        Type type = Type::kNever;
        std::uint64_t n = 0;

        // For the `count`th call, from 1.
        [[nodiscard]] bool is_due(std::uint64_t count) const;
    };

    enum FileType : unsigned { kLog = 1, kTable = 2, kManifest = 4, kOther = 8, kAllFiles = 15 };
    enum class Loss : std::uint8_t { kCut, kAll, kSectors, kNone };
    enum class Breakage : std::uint8_t {
        kNone,
        kAckBeforeSync,
        kKeyWithoutSeq,
        kWatermarkBeforeRows,
        kCompactDropsBlock,
        kRepeatAtWatermark
    };

    static constexpr std::uint64_t kAnyRoom = ~0ULL;

    std::uint64_t seed = 1;
    unsigned files = kAllFiles;
    When sync;
    When write;
    std::uint64_t room_size_bytes = kAnyRoom;
    std::uint64_t crash_at = 0;  // 0: never
    Loss loss = Loss::kCut;
    Breakage breakage = Breakage::kNone;
};

// Errors: kUsage, naming the word.
[[nodiscard]] Result<FaultPlan> parse_fault_plan(std::string_view text);

// By its name in the store's folder.
[[nodiscard]] FaultPlan::FileType file_type_of(std::string_view name);

}  // namespace perfleet
