// Parts of the delivery that a build may leave out, because its collector never uses them: SmallCollector keeps its
// batches in memory that ends with the process, and offers no images. -DPERFLEET_SMALL_DELIVERY spares their code, some
// 3 KB.
//
// Freestanding. Whoever asks for a part that was left out is stopped: a bug.
#pragma once

namespace perfleet {

#ifdef PERFLEET_SMALL_DELIVERY
inline constexpr bool kHasJournal = false;
inline constexpr bool kSuppliesImages = false;
#else
inline constexpr bool kHasJournal = true;      // a spool that outlives the process, and what an earlier one left there
inline constexpr bool kSuppliesImages = true;  // bytes of images that the gateway asks for
#endif

}  // namespace perfleet
