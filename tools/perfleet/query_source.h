// Where a query command's answer comes from: a data folder, or a gateway's query endpoint; and its options.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "query-engine/option/option.h"
#include "query-engine/statistic/command.h"
#include "query-engine/wire/query_client.h"
#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"

namespace perfleet {

struct QueryOptions {
    std::string data;
    std::string gateway;
    std::string key;
    std::string gateway_key;
    std::string symfs;
    bool takes_all = false;  // --all: every session
    OptionValues values;     // as the query engine takes them

    // Adds where the answer comes from, and the options that say which rows it is about. The object must outlive the
    // parsing. `options` are those of the command, with the selection's.
    void add_to(CLI::App& command, std::span<const OptionSpec> options);

    [[nodiscard]] SymbolPaths symbol_paths() const;
    // To the gateway that is named, with the keys that are. Errors: those of the keys and of QueryClient::connect().
    [[nodiscard]] Result<std::unique_ptr<QueryClient>> connect() const;

    // Of a local store without a selection the last session is meant, as of perf's one file: `values` names it then,
    // and standard error says so. Errors: those of the store.
    [[nodiscard]] Result<Done> choose_last_session(const StoreReader& store);
};

// Beside a live gateway or without one. Errors say what to do when there is no store.
[[nodiscard]] Result<std::unique_ptr<StoreReader>> open_data(const QueryOptions& options);

// A query command's answer, from the gateway or the data folder that the options name.
[[nodiscard]] Result<Answer> ask_table(QueryOptions& options, const QueryCommand& command);

}  // namespace perfleet
