#include "tools/perfleet/query/query_source.h"

#include <algorithm>
#include <chrono>

#include "daemon/command-line/arguments.h"
#include "daemon/option/program_options.h"
#include "exporters/format/export_format.h"
#include "query-engine/scan/session_choice.h"
#include "query-engine/service/query_service.h"
#include "schemas/host/host_clock.h"
#include "schemas/peers/key_file.h"
#include "storage/store/memory_store.h"
#include "storage/store/open_engine.h"
#include "storage/store/open_store.h"
#include "tools/perfleet/import/program_files.h"
#include "tools/perfleet/import/recording_file.h"
#include "tools/perfleet/import/session/stored_session_writer.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {

void QueryOptions::add_to(CLI::App& command, std::span<const OptionSpec> options) {
    add_options(command, options, values, "Selection");
    add_options(command, {{"--all", takes_all, "of a data folder: every session; without a selection it is the last"}},
                "Selection");
    add_source_to(command);
}

void QueryOptions::add_source_to(CLI::App& command) {
    add_options(
        command,
        {{"--data DIR", data, "data folder (default: where `perfleet record` writes), or rados:POOL", is_not_empty},
         ceph_conf_row(),
         {"--gateway ENDPOINT", gateway, "query endpoint of a gateway, such as tcp://127.0.0.1:7412", is_not_empty,
          excludes({"--data"})},
         {"--key FILE", key, "your secret key (perfleet keygen), for a gateway that asks for one", is_not_empty,
          needs("--gateway"), needs("--gateway-key")},
         {"--gateway-key KEY", gateway_key, "public key of its query endpoint: a file, or the 40 characters",
          is_not_empty, needs("--key")},
         {"--symfs DIR", symfs, "look for images below this folder (with --data: a gateway has its own)", is_not_empty,
          is_checked_by(CLI::ExistingDirectory), excludes({"--gateway"})}},
        "Source");
}

void QueryOptions::add_input_to(CLI::App& command) {
    add_options(
        command,
        {{"-i,--input FILE", input, "a perf.data file or a profile of pprof in place of a store; - for standard input",
          is_not_empty, excludes({"--data", "--gateway"})}},
        "Source");
}

Result<std::unique_ptr<QueryClient>> QueryOptions::connect() const {
    const auto keys = PERFLEET_TRY(load_connect_keys(key, gateway_key));
    return QueryClient::connect(gateway, keys.has_value() ? &*keys : nullptr);
}

namespace {

Result<std::unique_ptr<StoreReader>> open_input(const QueryOptions& options) {
    auto file = PERFLEET_TRY(open_recording_file(options.input, ""));
    auto store = make_memory_store({}, QueryOptions::kInputSizeBytesMax);
    RecordingImport import;
    import.files = program_files(options.symbol_paths());
    import.now = utc_now();
    StoreDestination destination{*store};
    PERFLEET_TRY(import_recording_file(std::move(file), import, destination));
    return std::unique_ptr<StoreReader>{std::move(store)};
}

}  // namespace

Result<std::unique_ptr<StoreReader>> open_data(const QueryOptions& options) {
    if (!options.input.empty()) {
        return open_input(options);
    }
    const auto named = PERFLEET_TRY(data_folder_of(options.data));
    const std::string& folder = named;
    Result<std::unique_ptr<StoreReader>> store = open_store_reader(folder);
    if (!store.ok() && store.error().code == ErrorCode::kNotFound && is_folder(folder)) {
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

namespace {

// Without a selection, a query of a store uses the last session, like perf's one file: names it in `values` and on
// standard error.
Result<Done> choose_last_session(const StoreReader& store, QueryOptions& options) {
    OptionValues& values = options.values;
    if (options.takes_all || values.contains("session") || values.contains("select") || values.contains("from") ||
        values.contains("until")) {
        return Done{};
    }
    const auto sessions = PERFLEET_TRY(noted_sessions(store));
    const auto count = std::count_if(sessions.begin(), sessions.end(),
                                     [](const auto& entry) { return !entry.second.note.is_removed; });
    if (sessions.size() > 1 && count != 0) {
        values["session"] = "last";
    }
    if (count > 1) {
        print_note("of " + std::to_string(count) +
                   " sessions the last (--all: every one; perfleet sessions lists them)");
    }
    return Done{};
}

// Receives the answer of a query in this process: keeps its table, passes its file to the sink.
class OwnReply : public QueryReply {
public:
    OwnReply(std::string what, ExportSink* sink) : sink_{sink}, line_{std::move(what)} {}
    Result<Done> send_table(Answer answer) override {
        table = std::move(answer);
        return Done{};
    }
    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        return sink_->write_at(offset, bytes);
    }
    [[nodiscard]] const std::atomic<bool>& cancelled() const override { return never_; }
    [[nodiscard]] ProgressReport progress() override { return line_.report(); }

    Answer table;

private:
    ExportSink* sink_;
    ProgressLine line_;
    std::atomic<bool> never_ = false;
};

Result<QueryEnd> ask_store(QueryOptions& options, Query query, QuerySessions meant, QueryReply& reply) {
    const auto store = PERFLEET_TRY(open_data(options));
    if (meant == QuerySessions::kLast) {
        PERFLEET_TRY(choose_last_session(*store, options));
        query.values.insert(options.values.begin(), options.values.end());
    }
    return QueryService{*store, options.symbol_paths(), export_formats()}.run(std::move(query), reply);
}

}  // namespace

Result<Answer> ask_table(QueryOptions& options, const QueryCommand& command) {
    PERFLEET_TRY(check_query(command.name, options.values, utc_now()));
    if (!options.gateway.empty()) {
        const auto client = PERFLEET_TRY(options.connect());
        ProgressLine progress{command.name + " at " + options.gateway};
        client->report_to(progress.report());
        return client->ask_table(command.name, options.values);
    }
    OwnReply reply{command.name, nullptr};
    PERFLEET_TRY(ask_store(options, {command.name, options.values}, command.sessions, reply));
    return std::move(reply.table);
}

Result<QueryEnd> ask_file(QueryOptions& options, Query query, ExportSink& sink) {
    if (!options.gateway.empty()) {
        const auto client = PERFLEET_TRY(options.connect());
        ProgressLine progress{"export from " + options.gateway};
        client->report_to(progress.report());
        return client->ask_file(
            query.command, query.values,
            [&](std::uint64_t offset, std::span<const std::byte> bytes) { return sink.write_at(offset, bytes); });
    }
    OwnReply reply{"export", &sink};
    return ask_store(options, std::move(query), QuerySessions::kLast, reply);
}

}  // namespace perfleet
