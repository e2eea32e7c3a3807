// web: the page for browsers over a store, a file or a command's recording, for one person.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/command-line/arguments.h"
#include "daemon/listen/listen_address.h"
#include "daemon/option/program_options.h"
#include "daemon/start/stop_signal.h"
#include "exporters/format/export_format.h"
#include "exporters/page/page_files.h"
#include "exporters/report/report.h"
#include "query-engine/http/api/http_api.h"
#include "query-engine/http/http_server.h"
#include "query-engine/limits/query_limits.h"
#include "query-engine/service/query_service.h"
#include "schemas/zmtp/token.h"
#include "target-collector/linux/command_line.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/record/record_first.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr std::uint16_t kExamplePort = 7414;

struct WebOptions {
    QueryOptions source;
    std::string listen = "127.0.0.1:*";
    std::vector<std::string> words;  // a FILE, or after -- a COMMAND
    CommandLine line;                // of what is recorded first
    std::vector<std::string> own_command_line;
};

// Passes a gateway's answers on.
Result<QueryEnd> ask_gateway(const QueryOptions& source, const Query& query, QueryReply& reply) {
    const auto client = PERFLEET_TRY(source.connect());
    client->report_to([&reply, report = reply.progress()](std::uint64_t done, std::uint64_t total) {
        if (report) {
            report(done, total);
        }
    });
    if (find_query_command(query.command).ok()) {
        auto answer = PERFLEET_TRY(client->ask_table(query.command, query.values));
        PERFLEET_TRY(reply.send_table(std::move(answer)));
        return QueryEnd{};
    }
    return client->ask_file(query.command, query.values,
                            [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<Done> {
                                return reply.cancelled() ? Error{ErrorCode::kCancelled, "the browser has gone"}
                                                         : reply.write_at(offset, bytes);
                            });
}

void wait_until_readable(int fd) {
    pollfd waiting{fd, POLLIN, 0};
    while (::poll(&waiting, 1, -1) < 0) {
    }
}

Result<Done> serve(WebOptions& options) {
    const auto address = PERFLEET_TRY(parse_listen_address("--listen", options.listen, kExamplePort));
    if (!address.is_loopback()) {
        return Error{ErrorCode::kUsage, "--listen " + options.listen +
                                            ": the page is for this machine alone: 127.0.0.1:PORT; perfleet-gateway "
                                            "--http serves it to others"};
    }
    const auto stop = PERFLEET_TRY(StopSignal::catch_signals([] { std::_Exit(kExitFailure); }));
    std::unique_ptr<StoreReader> store;
    MemoryPool memory{limits::kQueriesMemorySizeBytes};
    std::unique_ptr<QueryService> service;
    if (options.source.gateway.empty()) {
        store = PERFLEET_TRY(open_data(options.source));
        service = std::make_unique<QueryService>(*store, options.source.symbol_paths(), export_formats(), &memory);
    }
    HttpBackend backend;
    backend.query = [&](Query query, QueryReply& reply) -> Result<QueryEnd> {
        if (service == nullptr) {
            return ask_gateway(options.source, query, reply);
        }
        PERFLEET_TRY(store->refresh());
        return service->run(std::move(query), reply);
    };
    backend.json_report = [](const Answer& answer) { return format_report(answer, ReportFormat::kJson); };
    backend.formats = export_formats();

    auto listening = PERFLEET_TRY(listen_at(address));
    const std::string bound = bound_address(address, listening.get());
    const std::string key = PERFLEET_TRY(make_token());
    const std::string token = PERFLEET_TRY(make_token());
    // Browsers send cookies to every port of a host: each server has a name of its own.
    OneTimeLink link{key, "perfleet_" + bound.substr(bound.rfind(':') + 1) + "=" + token};
    const HttpApi api{{.backend = std::move(backend), .page = page_files(), .link = &link}};
    const auto server = PERFLEET_TRY(
        HttpServer::make(std::move(listening),
                         {.handler = [&](const HttpRequest& request, HttpReply& reply) { api.answer(request, reply); },
                          .role_of = [&](std::string_view path) { return api.role_of(path); },
                          .answer_at_once = [&](const HttpRequest& request,
                                                HttpReply& reply) { return api.answer_at_once(request, reply); },
                          .host = address.host,
                          .log = [](const LogEvent&) {},
                          .cookie = link.cookie()}));
    server->start();
    std::printf("http://%s%s?key=%s\n", bound.c_str(), std::string{kOpenPath}.c_str(), key.c_str());
    std::fflush(stdout);
    print_note(
        "open this link in a browser of this machine: it is valid once, for the browser that opens it. Ctrl-C "
        "ends");
    wait_until_readable(stop->fd());
    return Done{};
}

// Ctrl-C ends a recording; the page is shown then.
Result<int> run_web(WebOptions& options) {
    if (asks_for_recording(options.line)) {
        if (!options.source.input.empty() || !options.source.gateway.empty()) {
            return Error{ErrorCode::kUsage,
                         "a recording (-a, -p, -- COMMAND) goes into a data folder: not together with -i or --gateway"};
        }
        const bool has_command = !options.line.options.command.empty();
        const auto recorded = record_first(std::move(options.line), options.source.data, "perfleet web",
                                           std::move(options.own_command_line));
        if (!recorded.ok()) {
            return report_recording_error(recorded.error(), has_command);
        }
        if (recorded->signal != 0 && recorded->signal != SIGINT) {
            return kEndBySignal + recorded->signal;
        }
        if (recorded->exit_status != 0) {
            print_note("the command ended with exit status " + std::to_string(recorded->exit_status % kEndBySignal));
        }
        options.source.data = recorded->folder;
    }
    PERFLEET_TRY(serve(options));
    return 0;
}

}  // namespace

void add_web_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<WebOptions>(
        app, invocation, "web", "Show profiles, latencies and fleets in a browser of this machine",
        [&invocation](WebOptions& given) -> Result<int> {
            PERFLEET_TRY(
                take_file_and_command(given.words, invocation.arguments, given.source, given.line.options.command));
            given.own_command_line = invocation.command_line();
            return run_web(given);
        });
    add_options(*command,
                {{"--listen 127.0.0.1:PORT", options->listen, "where to serve (* takes a free port)", is_not_empty,
                  shows_default},
                 {"file FILE", options->words,
                  "a perf.data file or a profile of pprof, as -i; after --: a command and its arguments, which are "
                  "recorded first, into --data"}});
    add_live_options(*command, options->line, "Record first");
    options->source.add_source_to(*command);
    options->source.add_input_to(*command);
    command->footer(
        "Prints a link and serves until Ctrl-C. No other user can read the page: the link is valid once, and\n"
        "its browser gets a cookie. A gateway serves the same page to others with --http.");
}

}  // namespace perfleet
