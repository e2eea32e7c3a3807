// What a run is to be like, as QEMU's `-append` says it: words with a blank between them, of which each may be left
// out.
//
//   seconds=N      how long, at least (6)
//   samples=N      of each event, at least; on a slow host the run becomes longer (4000)
//   turns=N        of the loops that the load's functions are made of (20000)
//   load=circle    nothing is sampled: two threads signal each other, and how long so many rounds take is stored
//   circle=I,D,G,S the same, with Kanata Bench's parameters (20,20,10,30): G groups of S tests, of I, I + D, … rounds
//   trace=on       START and STOP of each function of the load are stored, too
//   period=loop    samples by the cycle counter come after a fixed number of cycles, as many as the load's outermost
//   loop
//                  takes: in step with it, to show what jitter is for
//   port=uart      telemetry goes over the PL011 instead of the virtio port
//   sink=file      nobody answers at the port's other end: what goes out is a file of frames, for `perfleet import`
//   console=host   what is printed goes to the host by semihosting; with port=uart nothing is printed otherwise
//   stream=after   nothing goes out or comes in before the run is over: with `-icount` all of it is the same each time
//   session=HEX    32 digits: the session, instead of one that is made from random bytes or granted
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "target-collector/small/circle_shape.h"

namespace perfleet::bare_metal {

struct RunOptions {
    std::uint64_t seconds = 6;
    std::uint64_t samples_min = 4'000;
    std::uint64_t turns = 20'000;
    bool is_circle = false;
    CircleShape circle;
    bool is_traced = false;
    bool is_in_step = false;
    bool has_uart = false;
    bool is_for_file = false;
    bool prints_to_host = false;
    bool streams_after = false;
    SessionId session;
};

// Faults: kInvalid (a word that is none of these; `where` its offset).
[[nodiscard]] Checked<RunOptions> parse_run_options(std::string_view text);

}  // namespace perfleet::bare_metal
