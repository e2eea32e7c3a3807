// relay: speaks CURVE to a gateway for targets that can't.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "daemon/option/program_options.h"
#include "daemon/start/stop_signal.h"
#include "schemas/host/descriptor_limit.h"
#include "target-collector/relay/relay.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

std::string joined(const std::vector<std::string>& words) {
    return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ","));
}

void say_of_relay(std::string_view text) { print_note(text, "perfleet relay"); }

Result<int> relay(RelayOptions options) {
    const auto signals = PERFLEET_TRY(StopSignal::catch_signals([] { std::_Exit(kExitFailure); }));
    raise_descriptor_limit();  // each target takes some
    options.log = say_of_relay;
    const auto relay = PERFLEET_TRY(Relay::open(options));
    std::printf("ready listen=%s serial=%s gateway=%s\n", joined(relay->endpoints()).c_str(),
                joined(options.lines).c_str(), joined(options.gateways).c_str());
    std::fflush(stdout);
    relay->run(signals->fd());
    const RelayCounts& counts = relay->counts();
    say_of_relay(
        fmt::format("{} {} relayed, {} turned away; {} messages to the gateway, {} to targets, {} damaged, {} dropped",
                    counts.targets.load(), counts.targets == 1 ? "target" : "targets", counts.targets_refused.load(),
                    counts.frames_to_gateway.load(), counts.frames_to_targets.load(), counts.frames_damaged.load(),
                    counts.frames_dropped.load()));
    return 0;
}

constexpr const char* kRelayFooter =
    "Targets without an operating system or without entropy for keys (boards, seL4, images) come\n"
    "in over sockets of this machine, or sit at serial lines. Each has a connection\n"
    "of its own to the gateway; all are the target that the key was enrolled for,\n"
    "whatever they call themselves: one relay and one key for each target that is to\n"
    "have a name. Nothing is dropped, nothing kept: when the gateway takes no more,\n"
    "the targets wait, and keep what they have. It takes up to 64 MiB of memory, and for each\n"
    "target at most 12 MiB, which is three messages of the greatest size.\n\n"
    "  perfleet keygen board-7             # board-7.pub goes into ./collectors there\n"
    "  perfleet relay --listen tcp://127.0.0.1:7411 --gateway tcp://GATEWAY:7411 \\\n"
    "      --key board-7.key --gateway-key gateway.pub";

}  // namespace

void add_relay_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<RelayOptions>(
        app, invocation, "relay", "Speak to a gateway with a key, for targets that can't", relay);
    add_options(*command,
                {{"--listen ENDPOINT", options->listen,
                  "Where targets come in: tcp://127.0.0.1:PORT (* for a free one), tcp://[::1]:PORT or ipc://PATH; "
                  "several times for several",
                  is_not_empty, is_one_each},
                 {"--serial PATH", options->lines,
                  "A serial line that a target is at, or the Unix socket of an emulated one; several times for several",
                  is_not_empty, is_one_each},
                 {"--baud N", options->baud, "Speed of serial lines", shows_default}});
    add_options(*command, gateway_rows(*options));
    command->get_option("--gateway")->required();
    command->footer(kRelayFooter);
}

}  // namespace perfleet
