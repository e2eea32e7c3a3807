// relay: uses CURVE to a gateway for targets that can't, or sends OTLP to another back end.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "daemon/option/program_options.h"
#include "daemon/start/stop_signal.h"
#include "query-engine/select/selection_options.h"
#include "schemas/host/descriptor_limit.h"
#include "target-collector/relay/relay.h"
#include "tools/perfleet/send/relay_otlp.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

std::string joined(const std::vector<std::string>& words) {
    return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ","));
}

void say_of_relay(std::string_view text) { print_note(text, "perfleet relay"); }

Result<int> relay(RelayOptions& options) {
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

struct RelayCommandOptions : RelayOptions {
    OtlpRelayOptions otlp;
};

Result<int> run_relay(RelayCommandOptions& options) {
    QueryOptions& source = options.otlp.source;
    if (options.otlp.url.empty()) {
        if (options.gateways.empty()) {
            return Error{ErrorCode::kUsage, "--gateway is required, or --otlp URL"};
        }
        return source.values.empty() ? relay(options)
                                     : Error{ErrorCode::kUsage, "a selection is for --otlp URL: everything is relayed"};
    }
    if (!options.listen.empty() || !options.lines.empty() || options.gateways.size() > 1) {
        return Error{ErrorCode::kUsage, "--otlp reads one gateway's query endpoint, and relays no targets"};
    }
    source.gateway = options.gateways.empty() ? std::string{} : options.gateways[0];
    source.key = options.key_file;
    source.gateway_key = options.gateway_keys.empty() ? std::string{} : options.gateway_keys[0];
    return relay_otlp(options.otlp);
}

// The options of --otlp.
void add_otlp_options(CLI::App& command, OtlpRelayOptions& otlp) {
    constexpr const char* kGroup = "Sending on";
    add_options(
        command,
        {{"--otlp URL", otlp.url,
          "Send the rows of a store to this receiver of OTLP/HTTP (http or https); /v1development/profiles is added",
          is_not_empty, excludes({"--listen", "--serial"})},
         {"--otlp-header NAME=VALUE", otlp.headers,
          "A header of each request; others can read command lines: tokens belong in --otlp-header-file", is_not_empty,
          is_one_each, needs("--otlp")},
         {"--otlp-header-file FILE", otlp.header_file, "Headers, `NAME: VALUE` a line; no other user may read the file",
          is_not_empty, needs("--otlp")},
         {"--otlp-ca FILE", otlp.ca_file, "Authorities (PEM) of the receiver's certificate, in place of the system's",
          is_not_empty, needs("--otlp")},
         {"--otlp-give-up-after SECONDS", otlp.give_up_after_s,
          "With --otlp: how long a request is repeated while the receiver is unavailable or busy", shows_default,
          is_between(std::uint64_t{0}, std::uint64_t{604'800})},
         {"--follow", otlp.follows, "Continue with later rows, until SIGINT or SIGTERM", needs("--otlp")},
         {"--data DIR", otlp.source.data, "data folder (default: where `perfleet record` writes), or rados:POOL",
          is_not_empty, needs("--otlp"), excludes({"--gateway"})},
         ceph_conf_row(),
         {"-i,--input FILE", otlp.source.input, "a perf.data file or a profile of pprof in place of a store",
          is_not_empty, needs("--otlp"), excludes({"--data", "--gateway"})},
         {"--symfs DIR", otlp.source.symfs, "look for images below this folder", is_not_empty,
          is_checked_by(CLI::ExistingDirectory), needs("--otlp"), excludes({"--gateway"})}},
        kGroup);
    add_options(command, selection_options(), otlp.source.values, "Selection, with --otlp");
}

constexpr const char* kRelayFooter =
    "Targets without an operating system or without entropy for keys (boards, seL4, images) connect\n"
    "over sockets of this machine, or over serial lines. Each has a connection of its\n"
    "own to the gateway; all are the target that the key was enrolled for, whatever\n"
    "name they state: one relay and one key for each target that needs a name.\n"
    "Nothing is dropped, nothing kept: when the gateway accepts no more, the targets\n"
    "wait, and keep their rows. It takes up to 64 MiB of memory, and for each\n"
    "target at most 12 MiB, which is three messages of the greatest size.\n\n"
    "  perfleet keygen board-7             # board-7.pub goes into ./collectors there\n"
    "  perfleet relay --listen tcp://127.0.0.1:7411 --gateway tcp://GATEWAY:7411 \\\n"
    "      --key board-7.key --gateway-key gateway.pub\n\n"
    "With --otlp it sends rows that are stored to another back end: all sessions of a store, a file or\n"
    "a gateway's query endpoint (--gateway), or those that are selected. The last line counts rows that\n"
    "were read, accepted, rejected (with reasons) and not sent; exit status 0: all were accepted.\n\n"
    "  perfleet relay --otlp https://otel.example:4318 --otlp-header-file headers --follow --from now";

}  // namespace

void add_relay_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<RelayCommandOptions>(
        app, invocation, "relay", "Connect targets without keys to a gateway with keys; or send rows as OTLP",
        run_relay);
    add_options(*command,
                {{"--listen ENDPOINT", options->listen,
                  "Endpoint for targets: tcp://127.0.0.1:PORT (* for a free one), tcp://[::1]:PORT or ipc://PATH; "
                  "several times for several",
                  is_not_empty, is_one_each},
                 {"--serial PATH", options->lines,
                  "A serial line with a target, or the Unix socket of an emulated one; several times for several",
                  is_not_empty, is_one_each},
                 {"--baud N", options->baud, "Speed of serial lines", shows_default}});
    add_options(*command, gateway_rows(*options));
    add_otlp_options(*command, options->otlp);
    command->footer(kRelayFooter);
}

}  // namespace perfleet
