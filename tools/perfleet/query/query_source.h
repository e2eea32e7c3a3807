// Where a query command's answer comes from: a data folder, or a gateway's query endpoint; and its options.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/option/option.h"
#include "query-engine/statistic/command.h"
#include "query-engine/wire/query_client.h"
#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"

namespace perfleet {

struct QueryOptions {
    // What -i reads takes at most so much in memory.
    static constexpr std::uint64_t kInputSizeBytesMax = 2ULL << 30;

    std::string input;  // a file of perf or pprof in place of a store
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
    // Adds -i, behind add_to().
    void add_input_to(CLI::App& command);

    [[nodiscard]] SymbolPaths symbol_paths() const { return {.symfs = symfs}; }
    // To the gateway that is named, with the keys that are. Errors: those of the keys and of QueryClient::connect().
    [[nodiscard]] Result<std::unique_ptr<QueryClient>> connect() const;
};

// The store that the options name, beside a live gateway or without one, or what is in their file. Errors say what to
// do when there is no store.
[[nodiscard]] Result<std::unique_ptr<StoreReader>> open_data(const QueryOptions& options);

// A query command's answer, from the gateway or the store that the options name.
[[nodiscard]] Result<Answer> ask_table(QueryOptions& options, const QueryCommand& command);
// A file, likewise.
[[nodiscard]] Result<QueryEnd> ask_file(QueryOptions& options, Query query, ExportSink& sink);

}  // namespace perfleet
