// Address translation: text for EL0 and EL1, memory of the kernel, memory of the load, devices; addresses stay as they
// are.
#pragma once

namespace perfleet::bare_metal {

// Once, before anything else: until then memory takes aligned accesses only.
void turn_translation_on();

}  // namespace perfleet::bare_metal
