// Subcommands that change a store in a folder, below a command that reads one.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "daemon/option/program_options.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {

template <class Options>
using StoreChange = Result<Done> (*)(const Options&, const std::string& folder);

// Error messages if the command is given a file or a gateway.
struct InsteadOfStore {
    const char* input;
    const char* gateway;
};

// Options::data is the folder; it may also be given to the parent command.
template <class Options>
std::pair<CLI::App*, std::shared_ptr<Options>> add_store_change(CLI::App& parent, Invocation& invocation,
                                                                const char* name, const char* summary,
                                                                const InsteadOfStore& refused,
                                                                StoreChange<Options> change) {
    CLI::App* command = parent.add_subcommand(name, summary);
    auto options = std::make_shared<Options>();
    add_options(*command, {data_row(options->data)});
    command->callback([&parent, &invocation, options, change, refused] {
        if (parent.count("--input") != 0) {
            throw CLI::ValidationError{"--input", refused.input};
        }
        if (parent.count("--gateway") != 0) {
            throw CLI::ValidationError{"--gateway", refused.gateway};
        }
        if (options->data.empty() && parent.count("--data") != 0) {
            options->data = parent.get_option("--data")->as<std::string>();
        }
        invocation.run = [options, change]() -> Result<int> {
            const auto folder = PERFLEET_TRY(data_folder_of(options->data));
            PERFLEET_TRY(change(*options, folder));
            return 0;
        };
    });
    return {command, options};
}

}  // namespace perfleet
