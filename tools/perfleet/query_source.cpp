#include "tools/perfleet/query_source.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <sstream>

#include "exporters/report/report.h"
#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/option_value.h"
#include "tools/perfleet/invocation.h"

namespace perfleet {

void QueryOptions::add_to(CLI::App& command, Kind kind) {
    const auto add = [&](const char* names, std::string& text, const char* summary, const char* type) {
        return command.add_option(names, text, summary)->type_name(type)->check(check_not_empty);
    };
    CLI::Option* data_option = add("--data", data, "data folder (default: where `perfleet record` writes)", "DIR");
    CLI::Option* gateway_option =
        add("--gateway", gateway, "query endpoint of a gateway, such as tcp://127.0.0.1:7412", "ENDPOINT")
            ->excludes(data_option);
    CLI::Option* key_option =
        add("--key", key, "your secret key (perfleet keygen), for a gateway that asks for one", "FILE")
            ->needs(gateway_option);
    key_option->needs(
        add("--gateway-key", gateway_key, "public key of its query endpoint: a file, or the 40 characters", "KEY")
            ->needs(key_option));
    add("--select", select, "only sessions with these labels: '{target=\"a\", arch=~\"aarch.*\"}'", "MATCHERS");
    add("--session", session, "only this session: first digits of its id, last, or last~1 (before it)", "ID");
    if (kind.has_event) {
        add("--event", event, "only this event", "NAME");
    }
    add("--from", from, "from this time on: RFC 3339, now, -15m, -2h", "TIME");
    add(kind.has_own_to ? "--until" : "--to,--until", to, "up to this time, itself left out", "TIME");
    command.add_flag("--exact", is_exact, "count from every row, never from rollups (sums by minute and hour)");
    add("--symfs", symfs, "look for images below this folder (with --data: a gateway has its own)", "DIR")
        ->excludes(gateway_option);
    command.add_option("--threads", thread_count, "threads of the scan (default: one a core)")
        ->type_name("N")
        ->check(CLI::Range(0, 64));
    command
        .add_option("--memory", memory_size_bytes,
                    "what it may take for what it reads and counts: bytes, or with k, m, g (default: 1g)")
        ->type_name("SIZE")
        ->transform(CLI::AsSizeValue{false})
        ->check(CLI::Range(limits::kQueryMemorySizeBytesMin, std::size_t{1} << 44U, "at least 1m"));
}

CommandOptions QueryOptions::as_text() const {
    CommandOptions options;
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            options[name] = value;
        }
    };
    add("select", select);
    add("session", session);
    add("event", event);
    add("from", from);
    add("to", to);
    if (is_exact) {
        options["exact"] = "yes";
    }
    if (memory_size_bytes != limits::kQueryMemorySizeBytes) {
        options["memory"] = std::to_string(memory_size_bytes);
    }
    if (thread_count != 0) {
        options["threads"] = std::to_string(thread_count);
    }
    return options;
}

SymbolPaths QueryOptions::symbol_paths() const {
    SymbolPaths paths;
    paths.symfs = symfs;
    return paths;
}

Result<std::unique_ptr<QueryClient>> QueryOptions::connect() const {
    const auto keys = load_connect_keys(key, gateway_key);
    if (!keys.ok()) {
        return Error{keys.error()};
    }
    return QueryClient::connect(gateway, keys->has_value() ? &**keys : nullptr);
}

Result<std::unique_ptr<StoreReader>> open_data(const QueryOptions& options) {
    const Result<std::string> named = data_folder_of(options.data);
    if (!named.ok()) {
        return Error{named.error()};
    }
    const std::string& folder = *named;
    Result<std::unique_ptr<StoreReader>> store = open_rocksdb_reader(folder);
    if (!store.ok() && store.error().code == ErrorCode::kNotFound) {
        return Error{
            ErrorCode::kNotFound,
            "no perfleet store at " + folder +
                (options.data.empty()
                     ? ": record something first (perfleet record -- COMMAND), or name a folder with --data or "
                       "a gateway with --gateway"
                     : ": --data takes the folder that perfleet-gateway or perfleet record writes to")};
    }
    return store;
}

Result<Answer> ask_table(const QueryOptions& options, const std::string& command, const CommandOptions& text) {
    if (const Result<Done> checked = check_table_command(command, text, utc_now()); !checked.ok()) {
        return Error{checked.error()};
    }
    if (!options.gateway.empty()) {
        const Result<std::unique_ptr<QueryClient>> client = options.connect();
        if (!client.ok()) {
            return Error{client.error()};
        }
        return (*client)->ask_table(command, text);
    }
    const Result<std::unique_ptr<StoreReader>> store = open_data(options);
    if (!store.ok()) {
        return Error{store.error()};
    }
    return run_table_command(command, text, **store, options.symbol_paths(), utc_now());
}

int print_answer(const Answer& answer, const std::string& report, const std::string& format) {
    if (std::fwrite(report.data(), 1, report.size(), stdout) != report.size() || std::fflush(stdout) != 0) {
        return report_error(error_from_errno(errno, "standard output"));
    }
    if (format == "csv") {
        std::istringstream lines{ledger_note(answer)};
        for (std::string line; std::getline(lines, line);) {
            std::fprintf(stderr, "perfleet: %s\n", line.c_str());
        }
    }
    if (format != "json") {
        for (const std::string& warning : answer.warnings) {
            std::fprintf(stderr, "perfleet: warning: %s\n", printable(warning).c_str());
        }
    }
    return 0;
}

UtcNs utc_now() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return UtcNs{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

}  // namespace perfleet
