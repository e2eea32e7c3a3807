// What a query command is about and where its answer comes from: a data folder, or a gateway's query endpoint.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "query-engine/statistic/command.h"
#include "query-engine/wire/query_client.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/limits.h"
#include "storage/store/store.h"

namespace perfleet {

// The options that all query commands share.
struct QueryOptions {
    std::string data;
    std::string gateway;
    std::string key;
    std::string gateway_key;
    std::string select;
    std::string session;
    std::string event;
    std::string from;
    std::string to;
    std::string symfs;
    bool is_exact = false;
    unsigned thread_count = 0;
    std::size_t memory_size_bytes = limits::kQueryMemorySizeBytes;

    // What a command has that others don't. The end of the time range is --to, and --until everywhere: `export` has a
    // --to of its own.
    struct Kind {
        bool has_own_to = false;
        bool has_event = true;
    };
    // Adds them to the subcommand; the object must outlive the parsing. None may be an empty text: a shell variable
    // that isn't set must not select everything.
    void add_to(CLI::App& command, Kind kind);
    void add_to(CLI::App& command) { add_to(command, Kind{}); }

    // As the query engine takes them.
    [[nodiscard]] CommandOptions as_text() const;
    [[nodiscard]] SymbolPaths symbol_paths() const;
    // To the gateway that is named, with the keys that are. Errors: those of the keys and of QueryClient::connect().
    [[nodiscard]] Result<std::unique_ptr<QueryClient>> connect() const;
};

// Beside a live gateway or without one. Errors say what to do when there is no store.
[[nodiscard]] Result<std::unique_ptr<StoreReader>> open_data(const QueryOptions& options);

// A table command's answer, from the gateway or the data folder that the options name. `text` are the command's options
// with those of as_text().
[[nodiscard]] Result<Answer> ask_table(const QueryOptions& options, const std::string& command,
                                       const CommandOptions& text);

// The report on standard output, and the answer's warnings on standard error unless they stand in it ("json"). Gives
// the exit status.
[[nodiscard]] int print_answer(const Answer& answer, const std::string& report, const std::string& format);

[[nodiscard]] UtcNs utc_now();

}  // namespace perfleet
