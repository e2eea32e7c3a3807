// The command line `perfleet`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "exporters/report/report.h"
#include "tools/perfleet/help_text.h"
#include "tools/perfleet/invocation.h"

constexpr const char* kRecord = "record";

namespace perfleet {

int report_error(const Error& error) {
    std::fprintf(stderr, "perfleet: %s\n", printable(error.message).c_str());
    return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailure;
}

std::string default_data_folder() {
    if (const char* data_home = std::getenv("XDG_DATA_HOME"); data_home != nullptr && data_home[0] == '/') {
        return std::string{data_home} + "/perfleet";
    }
    const char* home = std::getenv("HOME");
    return std::string{home == nullptr ? "" : home} + "/.local/share/perfleet";
}

}  // namespace perfleet

int main(int argument_count, char** arguments) {
    if (argument_count > 1 && std::string_view{arguments[1]} == kRecord) {
        return perfleet::record_command(argument_count - 1, arguments + 1);
    }
    CLI::App app{"perfleet: records, asks and exports performance data of Linux and seL4"};
    app.name("perfleet");
    app.set_version_flag("--version", "perfleet " PERFLEET_VERSION);
    app.formatter(std::make_shared<perfleet::HelpText>());
    app.require_subcommand(0, 1);
    app.failure_message(CLI::FailureMessage::simple);

    perfleet::Invocation invocation;
    perfleet::add_table_commands(app, invocation);
    perfleet::add_diff_command(app, invocation);
    perfleet::add_export_command(app, invocation);
    perfleet::add_import_command(app, invocation);
    perfleet::add_keygen_command(app, invocation);
    perfleet::add_inspect_command(app, invocation);
    perfleet::add_relay_command(app, invocation);
    perfleet::add_control_command(app, invocation);
    perfleet::add_copy_command(app, invocation);
    perfleet::add_backup_commands(app, invocation);
    app.add_subcommand(kRecord, "Profile a program here and now; no gateway needed");  // for --help

    try {
        app.parse(argument_count, arguments);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? EXIT_SUCCESS : perfleet::kExitUsage;
    }
    if (!invocation.run) {
        std::fprintf(stderr, "perfleet: which command?\n\n%s", app.help().c_str());
        return perfleet::kExitUsage;
    }
    return invocation.run();
}
