// Copies a store's folder as it is at one moment, beside a live writer: for backups, and for copies made from them.
//
// RocksDB's own checkpoints work only in the writer's process: a secondary instance can't keep the writer from deleting
// a log whose contents went into a table file that it doesn't know yet, and reports nothing. So this does the same from
// outside: hard links to table files, which never change (copies if the file system has no links); copies of the
// manifest and the logs, manifest first. Afterwards it checks whether the writer has deleted something meanwhile; if
// so, it starts again.
//
//   moment of the manifest ──▶ its table files all there? ── no ─┐
//   logs listed before it ──▶ still there when copied?    ── no ─┤
//   CURRENT names it still?                               ── no ─┴▶ again
//
// Contains everything that the writer had synced when it began.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Suffix of the name of a checkpoint that is being made, or was interrupted.
inline constexpr const char* kIncompleteSuffix = ".incomplete";

struct Checkpoint {
    std::uint64_t table_file_count = 0;
    std::uint64_t linked_size_bytes = 0;  // shared with the source
    std::uint64_t copied_size_bytes = 0;
    std::uint32_t attempt_count = 0;
    std::string damage;  // of the source's table files; empty: none
};

// `to` must not exist or be an empty folder, whose owner and mode it keeps. The checkpoint is made under its name with
// the suffix, opened once as a writer would, and then renamed durably: a folder with the final name is complete.
// Replaces the rest of an interrupted checkpoint. Errors: kNotFound (no store in `from`), kUsage (`to` exists; `from`
// is incomplete), kUnavailable (the writer changed files too fast), kUnsupported (a newer format), kFull, kPermission,
// kIo.
[[nodiscard]] Result<Checkpoint> make_checkpoint(const std::string& from, const std::string& to,
                                                 const ProgressReport& progress = {});

}  // namespace perfleet
