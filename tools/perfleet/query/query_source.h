// The source of a query command's answer, a data folder or a gateway's query endpoint, and its options.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/statistic/command.h"
#include "query-engine/wire/query_client.h"
#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"

namespace perfleet {

struct QueryOptions {
    // Limit of the memory for the file of -i.
    static constexpr std::uint64_t kInputSizeBytesMax = 2ULL << 30;

    std::string input;         // a file of perf or pprof to read instead of a store
    std::string input_before;  // of a comparison: the file of the other side
    std::string data;
    std::string gateway;
    std::string key;
    std::string gateway_key;
    std::string symfs;
    bool takes_all = false;                  // --all: every session
    OptionValues values;                     // in the query engine's form
    std::optional<SessionId> shown_session;  // that a note has named for `last`

    // Adds options that choose the source and the rows. The object must outlive the parsing. `options` are those of the
    // command, including the selection's; `use`: of its sessions.
    void add_to(CLI::App& command, std::span<const OptionSpec> options, SessionUse use = SessionUse::kProfile);
    // Adds those that choose the source alone.
    void add_source_to(CLI::App& command);
    // Adds -i; call it after these.
    void add_input_to(CLI::App& command);

    [[nodiscard]] SymbolPaths symbol_paths() const { return {.symfs = symfs}; }
    // Connects to the named gateway with the named keys. Errors: those of the keys and of QueryClient::connect().
    [[nodiscard]] Result<std::unique_ptr<QueryClient>> connect() const;
};

// Whether it is a file that --input reads, by its first bytes.
[[nodiscard]] bool is_recording(const std::string& path);

// Makes a recording at the front of `words` query.input, and takes it from them.
void take_file(std::vector<std::string>& words, QueryOptions& query);

// Of words without an option's name, a recording at the front is query.input; those after -- of `arguments` are
// `command`. Errors: kUsage, for any other word.
[[nodiscard]] Result<Done> take_file_and_command(std::vector<std::string> words,
                                                 const std::vector<std::string>& arguments, QueryOptions& query,
                                                 std::vector<std::string>& command);

// Opens the store that the options name (also while a gateway uses it), or the contents of their file. Errors say what
// to do when there is no store.
[[nodiscard]] Result<std::unique_ptr<StoreReader>> open_data(const QueryOptions& options);

// Returns a query command's answer, from the gateway or the store that the options name.
[[nodiscard]] Result<Answer> ask_table(QueryOptions& options, const QueryCommand& command);
// The same for a file.
[[nodiscard]] Result<QueryEnd> ask_file(QueryOptions& options, Query query, ExportSink& sink);

}  // namespace perfleet
