// What a process that reads untrusted files may still ask of the kernel: to read and write what it has open, messages
// with descriptors over its socket, memory without code in it, and its end. No file is opened by name, no socket, no
// process and no program is made.
#pragma once

namespace perfleet {

// For the whole process, from now on; other calls fail with EPERM. It takes PR_SET_NO_NEW_PRIVS. False, with errno: the
// kernel has no such filters.
[[nodiscard]] bool filter_system_calls();

}  // namespace perfleet
