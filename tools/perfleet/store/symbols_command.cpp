// symbols push, fetch, prune: changes a store's symbols by hand.
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/option/program_options.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/session/symbol_inventory.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/store/open_store.h"
#include "tools/perfleet/session/store_change.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"
#include "tools/perfleet/store/symbol_content.h"
#include "tools/perfleet/store/symbol_writer.h"

namespace perfleet {
namespace {

constexpr std::chrono::minutes kFetchTimeMax{30};

struct SymbolsOptions {
    std::string data;
    std::vector<std::string> files;
    std::string debug_file;
    std::vector<std::string> build_ids;  // hexadecimal, complete or only first digits
    std::string servers;
};

Result<std::unique_ptr<Store>> open_writable(const std::string& folder) {
    PERFLEET_TRY(open_store_reader(folder));  // fails if there is no store: it creates none
    auto store = open_store(folder);
    if (!store.ok() && store.error().code == ErrorCode::kBusy) {
        return Error{ErrorCode::kBusy, "a gateway or recorder writes to " + folder +
                                           ": symbols are removed while nothing else writes to the store"};
    }
    return store;
}

Result<Done> push(const SymbolsOptions& options, const std::string& folder) {
    if (!options.debug_file.empty() && options.files.size() != 1) {
        return Error{ErrorCode::kUsage, "--debug-file goes with one program"};
    }
    auto writer = PERFLEET_TRY(SymbolWriter::open(folder));
    for (const std::string& file : options.files) {
        const auto symbols = PERFLEET_TRY(symbols_of_files(file, options.debug_file));
        const auto stored = PERFLEET_TRY(writer.put(symbols));
        print_note(file + ": build-id " + hex_of(symbols.build_id) +
                   (stored ? ": symbols are stored, " + std::to_string(symbols.content.bytes.size()) + " bytes" +
                                 (symbols.is_whole ? "" : "; only dynamic ones, for the file is stripped")
                           : ": the store has its symbols already"));
    }
    return Done{};
}

// Raw build-ids of sessions whose symbols the store lacks: all, or those in the options.
Result<std::vector<std::string>> chosen_builds(const SymbolsOptions& options, const StoreReader& store) {
    Selection selection;
    selection.reads_large_texts = false;
    const auto scan = PERFLEET_TRY(Scan::open(store, selection));
    const auto inventory = PERFLEET_TRY(make_symbol_inventory(scan));
    std::vector<std::string> chosen;
    std::vector<bool> is_found(options.build_ids.size());
    for (const auto& row : inventory.rows) {
        const auto* const id = std::get_if<std::string>(&row[1]);
        const auto* const kind = std::get_if<std::string>(&row[2]);
        if (id == nullptr || kind != nullptr) {
            continue;
        }
        bool is_chosen = options.build_ids.empty();
        for (std::size_t i = 0; i < options.build_ids.size(); ++i) {
            const bool is_it = id->starts_with(options.build_ids[i]);
            is_found[i] = is_found[i] || is_it;
            is_chosen = is_chosen || is_it;
        }
        if (is_chosen) {
            chosen.push_back(bytes_of_hex(*id).value_or(""));
        }
    }
    for (std::size_t i = 0; i < is_found.size(); ++i) {
        if (!is_found[i]) {
            return Error{ErrorCode::kNotFound,
                         "build-id " + options.build_ids[i] + ": no session names it, or its symbols are stored"};
        }
    }
    return chosen;
}

Result<Done> fetch(const SymbolsOptions& options, const std::string& folder) {
    if (!options.servers.empty()) {
        ::setenv("DEBUGINFOD_URLS", options.servers.c_str(), 1);
    }
    if (!has_debuginfod_urls()) {
        return Error{ErrorCode::kUsage, "no servers: name them with --debuginfod, or in DEBUGINFOD_URLS"};
    }
    auto writer = PERFLEET_TRY(SymbolWriter::open(folder));
    const auto builds = PERFLEET_TRY(chosen_builds(options, writer.reader()));
    Debuginfod servers{kFetchTimeMax};
    std::size_t stored_count = 0;
    for (const std::string& build_id : builds) {
        const auto symbols = symbols_of_servers(servers, build_id);
        if (!symbols.ok()) {
            if (symbols.error().code != ErrorCode::kNotFound) {
                print_warning(symbols.error().message);
            }
            continue;
        }
        const auto stored = PERFLEET_TRY(writer.put(*symbols));
        stored_count += stored ? 1 : 0;
    }
    print_note("symbols of " + std::to_string(stored_count) + " of " + std::to_string(builds.size()) +
               " builds that lacked them are stored");
    return Done{};
}

Result<Done> prune(const SymbolsOptions& /*options*/, const std::string& folder) {
    auto store = PERFLEET_TRY(open_writable(folder));
    const auto left = PERFLEET_TRY(store->remove_unused_images());
    print_note(std::to_string(left) + " bytes of symbols that no session names are removed");
    return store->sync();
}

}  // namespace

void add_symbols_commands(CLI::App& app, Invocation& invocation) {
    CLI::App* symbols = app.get_subcommand("symbols");
    symbols->require_subcommand(0, 1);
    symbols->footer(
        "`symbols` is `all` where the store has the names of the build, `dynamic` where the\n"
        "file was stripped and its debug file wasn't there.");
    constexpr const char* kElsewhere = "symbols are changed in a store: name it with --data";
    const auto add = [&](const char* name, const char* summary, StoreChange<SymbolsOptions> change) {
        return add_store_change(*symbols, invocation, name, summary, {kElsewhere, kElsewhere}, change);
    };
    const auto [push_command, pushed] = add("push", "Store the symbols of programs and libraries, by build-id", push);
    add_options(
        *push_command,
        {{"file FILE", pushed->files, "programs and libraries with a build-id", is_required, is_not_empty},
         {"--debug-file FILE", pushed->debug_file, "the separate debug file of the one program", is_not_empty}});
    const auto [fetch_command, fetched] =
        add("fetch", "Store symbols that the store lacks from debuginfod servers", fetch);
    add_options(*fetch_command,
                {{"build-id BUILD-ID", fetched->build_ids, "these alone: hexadecimal, or the first digits"},
                 {"--debuginfod URLS", fetched->servers, "the servers; default: DEBUGINFOD_URLS", is_not_empty}});
    add("prune", "Remove symbols that no session names", prune);
}

}  // namespace perfleet
