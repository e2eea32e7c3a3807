// The system calls of a process that reads untrusted files: reading and writing open files, messages with descriptors
// over its socket, memory without code, and exit. It can't open files by name, nor create sockets, processes or
// programs.
#pragma once

namespace perfleet {

// Applies to the whole process from now on; other calls fail with EPERM. Sets PR_SET_NO_NEW_PRIVS. False, with errno:
// the kernel lacks seccomp filters.
[[nodiscard]] bool filter_system_calls();

}  // namespace perfleet
