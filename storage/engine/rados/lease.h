// Leases: which process may write a shard of a store on RADOS. A lease is a number that increases with each holder, in
// the head of the shard's directory. Every head has the number under which it was written, and every change compares
// it: a holder whose lease was taken can't change anything more, however late it resumes.
//
// Threads: any, for different directories.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/vocabulary/error.h"
#include "storage/engine/rados/directory.h"
#include "storage/engine/rados/pool.h"

namespace perfleet {

// Takes the directory's next lease and fences off the holder of the one before: all heads that can still be written get
// the new number; the directory first, so that no segment is added later, then the last segment of each domain. Creates
// a missing directory. Errors: kBusy (another process took it at the same moment), those of the pool.
[[nodiscard]] Result<Directory> take_directory(RadosPool& pool, std::size_t directory);

// Fences again under a lease that is held, to continue from the stored state. Errors: kBusy (another process has taken
// the lease).
[[nodiscard]] Result<Directory> fence_directory(RadosPool& pool, std::size_t directory, std::uint64_t lease);

}  // namespace perfleet
