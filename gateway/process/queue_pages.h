// Where the pieces of libzmq's queues stand, in this program: pages that are taken when they are written for the first
// time and go back to the system when the piece is freed.
//
// libzmq (4.3) makes its queues of pieces for 256 messages, 16 KB each, of which a quiet connection has four: two pipes
// to its user, two to whoever answers for its key. It asks for them with posix_memalign() and never uses most of their
// pages. The C library's allocator gives it memory that was used before, so that each of them counts in full: about
// 100 KB a connection, where a fresh one takes 40.
//
// This replaces posix_memalign() and free() of the whole program, as malloc(3) allows; whatever isn't such a piece goes
// on to the C library. Any thread. Bounded by kQueuePiecesMax: further ones come from the C library. Not there where a
// sanitizer replaces them, or without glibc.
#pragma once

#include <cstddef>

namespace perfleet {

inline constexpr std::size_t kQueuePiecesMax = 1U << 18;

// That are in use now.
[[nodiscard]] std::size_t queue_pieces_in_use();

}  // namespace perfleet
