// Who may write a store on RADOS: one lease for all of it, a number that grows with each holder. Every head has the
// number under which it was written, and every change compares it, so that a holder whose lease was taken changes
// nothing more, however late it wakes up.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "schemas/vocabulary/error.h"
#include "storage/engine/rados/directory.h"
#include "storage/engine/rados/pool.h"

namespace perfleet {

// Under a lease, nobody else changes them.
using Directories = std::array<Directory, kDirectories>;

// The next lease; its number. The pool answers for it until it is closed. Errors: kBusy (its holder answers), those of
// the pool.
[[nodiscard]] Result<std::uint64_t> take_lease(RadosPool& pool);

// Nothing if the store was never written.
[[nodiscard]] Result<std::optional<std::uint64_t>> current_lease(RadosPool& pool);

// Gives all heads that can still be written the lease's number: directories first, so that no segment is added behind
// that, then the last segment of each domain. Errors: kBusy (somebody took the next lease), those of the pool.
[[nodiscard]] Result<Directories> fence(RadosPool& pool, std::uint64_t lease);

}  // namespace perfleet
