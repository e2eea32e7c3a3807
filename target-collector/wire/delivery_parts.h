// Parts of the delivery that a build may omit: SmallCollector keeps its batches in memory that ends with the process,
// and offers no images. -DPERFLEET_SMALL_DELIVERY omits their code, about 3 KB.
//
// Freestanding. Using an omitted part stops the program: it is a bug.
#pragma once

namespace perfleet {

#ifdef PERFLEET_SMALL_DELIVERY
inline constexpr bool kHasJournal = false;
inline constexpr bool kSuppliesImages = false;
#else
inline constexpr bool kHasJournal = true;      // a spool that outlives the process, and orphaned sessions in it
inline constexpr bool kSuppliesImages = true;  // sends content of images that the gateway requests
#endif

}  // namespace perfleet
