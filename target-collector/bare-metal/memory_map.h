// Address translation: text for EL0 and EL1, memory of the kernel, memory of the load, devices. Virtual addresses equal
// physical ones.
#pragma once

namespace perfleet::bare_metal {

// Call it once, before anything else: until then memory allows only aligned accesses.
void turn_translation_on();

}  // namespace perfleet::bare_metal
