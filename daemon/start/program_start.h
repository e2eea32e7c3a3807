// What every program does before anything else: standard descriptors that are there, and an end with a sentence where
// the system gives no more threads or memory.
//
// On the first thread, before there is another.
#pragma once

namespace perfleet {

// Standard descriptors that the program was started without are opened, so that no file and no socket gets their
// numbers, and then what is written for people. They lead nowhere: using them fails, as it did.
//
// From here on std::bad_alloc, and std::system_error of a thread that can't be started, end the program with exit
// status 1 and a sentence on standard error that names the limit and the way out, wherever they are thrown and not
// caught.
//
// Libraries that start threads of their own abort where they can't: so many are started here, and ended. False: they
// couldn't be, and it was said. `program` is borrowed for good.
[[nodiscard]] bool start_program(const char* program, unsigned thread_count);

// Whether a signal is ignored: SIGHUP is, below nohup.
[[nodiscard]] bool is_signal_ignored(int signal);

}  // namespace perfleet
