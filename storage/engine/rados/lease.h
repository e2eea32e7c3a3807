// Who may write a shard of a store on RADOS: a number that grows with each holder, in the head of the shard's
// directory. Every head has the number under which it was written, and every change compares it, so that a holder whose
// lease was taken changes nothing more, however late it wakes up.
//
// Threads: any, for different directories.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/vocabulary/error.h"
#include "storage/engine/rados/directory.h"
#include "storage/engine/rados/pool.h"

namespace perfleet {

// Takes the directory's next lease (in its head), and fences off whoever had the one before: all heads that can still
// be written get the number, the directory first, so that no segment is added behind that, then the last segment of
// each domain. Makes a directory that isn't there. Errors: kBusy (somebody else took it at this moment), those of the
// pool.
[[nodiscard]] Result<Directory> take_directory(RadosPool& pool, std::size_t directory);

// The same under a lease that is held, to go on from what is there. Errors: kBusy (another lease was taken since).
[[nodiscard]] Result<Directory> fence_directory(RadosPool& pool, std::size_t directory, std::uint64_t lease);

}  // namespace perfleet
