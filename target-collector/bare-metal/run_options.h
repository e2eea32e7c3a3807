// Options of a run, from QEMU's `-append`: words separated by a blank, all optional.
//
//   seconds=N      least duration (6)
//   samples=N      least samples of each event; on a slow host the run becomes longer (4000)
//   handshakes=N   least handshakes with gateways, likewise (0)
//   turns=N        of the loops in the load's functions (20000)
//   load=circle    no samples: two threads signal each other, and the time of several rounds is stored
//   circle=I,D,G,S the same, with Kanata Bench's parameters (20,20,10,30): G groups of S tests, of I, I + D, … rounds
//   trace=on       START and STOP of each function of the load are stored, too
//   period=loop    a sample by the cycle counter after each turn of the load's outermost loop: a period in step
//                  with the load, to show why jitter is needed
//   port=uart      telemetry goes over the PL011 instead of the virtio port
//   gateway=A.B.C.D:PORT       telemetry goes over TCP to this gateway, by a virtio network card
//   keys=on        gateway and board know each other by the keys at 0x405ff000
//   address=A.B.C.D/BITS[,A.B.C.D]  with gateway: the board's address, and its router's; otherwise by DHCP
//   sink=file      no gateway answers at the port: the output is a file of frames, for `perfleet import`
//   console=host   prints to the host by semihosting; otherwise port=uart prints nothing
//   stream=after   sends and receives only after the run: with `-icount` each run is then the same
//   session=HEX    32 digits: the session id, instead of a random or granted one
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "target-collector/network/ipv4.h"
#include "target-collector/small/circle_shape.h"

namespace perfleet::bare_metal {

struct RunOptions {
    std::uint64_t seconds = 6;
    std::uint64_t samples_min = 4'000;
    std::uint64_t handshakes_min = 0;
    std::uint64_t turns = 20'000;
    bool is_circle = false;
    CircleShape circle;
    bool is_traced = false;
    bool is_in_step = false;
    bool has_uart = false;
    bool has_keys = false;
    std::optional<Ipv4Endpoint> gateway;
    std::optional<Ipv4Network> address;
    bool is_for_file = false;
    bool prints_to_host = false;
    bool streams_after = false;
    SessionId session;
};

// Faults: kInvalid (an unknown word; `where` is its offset).
[[nodiscard]] Checked<RunOptions> parse_run_options(std::string_view text);

}  // namespace perfleet::bare_metal
