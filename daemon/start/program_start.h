// What every program does first: opens missing standard descriptors, and prepares messages for running out of threads
// or memory.
//
// On the first thread, before others are started.
#pragma once

namespace perfleet {

// Opens standard descriptors that are closed, so that no file or socket gets their numbers and then receives the
// program's output. Reading from them and writing to them still fails.
//
// From then on an uncaught std::bad_alloc, or std::system_error of a thread that can't be started, ends the program
// with exit status 1 and a sentence on standard error that names the limit and the way out.
//
// Libraries that can't start their own threads abort. Therefore this starts `thread_count` threads, and ends them
// again, to test the limit. False: they could not be started, and standard error says why. `program` must live as long
// as the process.
[[nodiscard]] bool start_program(const char* program, unsigned thread_count);

// Whether a signal is ignored, as SIGHUP is under nohup.
[[nodiscard]] bool is_signal_ignored(int signal);

}  // namespace perfleet
