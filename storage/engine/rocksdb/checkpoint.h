// A store's folder as it is at one moment, taken beside a live writer: for backups, and for what is made of them.
//
// RocksDB's own checkpoints are right in the writer's process alone: a secondary instance can't keep the writer from
// deleting a log whose content went into a table file that it doesn't know yet, and says nothing of it. So this takes
// what they would: table files, which never change, by hard links (copies where the file system doesn't allow them),
// the manifest and the logs by copies, manifest first. Whether the writer has deleted something meanwhile is seen
// afterwards; then it is done again.
//
//   moment of the manifest ──▶ its table files all there? ── no ─┐
//   logs listed before it ──▶ still there when copied?    ── no ─┤
//   CURRENT names it still?                               ── no ─┴▶ again
//
// What the writer had synced when it began is in it.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Behind the name of a folder in which a checkpoint is being made, or was when it was interrupted.
inline constexpr const char* kIncompleteSuffix = ".incomplete";

struct Checkpoint {
    std::uint64_t table_file_count = 0;
    std::uint64_t linked_size_bytes = 0;  // no room of their own
    std::uint64_t copied_size_bytes = 0;
    std::uint32_t attempt_count = 0;
    std::string damage;  // of the source's table files; empty: none
};

// `to` doesn't exist or is an empty folder, whose owner and mode it keeps. It is made under its name with the suffix,
// opened once as a writer would, and gets its name at the end, durably: so a folder of that name is whole. What an
// interrupted one left is replaced. Errors: kNotFound (no store in `from`), kUsage (`to` is there already; `from` is
// incomplete), kUnavailable (the writer changed files too fast), kUnsupported (a newer format), kFull, kPermission,
// kIo.
[[nodiscard]] Result<Checkpoint> make_checkpoint(const std::string& from, const std::string& to,
                                                 const ProgressReport& progress = {});

}  // namespace perfleet
