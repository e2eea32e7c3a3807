// backup and restore: a store's folder as it is at one moment, and back.
#include <cstdio>
#include <memory>
#include <string>

#include "daemon/option/program_options.h"
#include "storage/engine/rocksdb/checkpoint.h"
#include "storage/store/open_engine.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

struct BackupOptions {
    const char* what = "backup";
    std::string from = default_data_folder();
    std::string to;
};

Result<int> run_backup(const BackupOptions& options) {
    PERFLEET_TRY(data_folder_of(options.from));
    const Result<Checkpoint> made = with_progress(
        options.what, [&](const ProgressReport& report) { return make_checkpoint(options.from, options.to, report); });
    if (!made.ok()) {
        Error error = made.error();
        if (!is_folder(options.from)) {
            error.message += "; perfleet copy --data " + options.from + " --to DIR puts all of it into one";
        }
        return error;
    }
    std::printf("%llu table files; %llu bytes shared by hard links, %llu copied\n",
                static_cast<unsigned long long>(made->table_file_count),
                static_cast<unsigned long long>(made->linked_size_bytes),
                static_cast<unsigned long long>(made->copied_size_bytes));
    if (!made->damage.empty()) {
        print_warning(made->damage + "; perfleet inspect --verify lists what is lost");
    }
    print_note(options.to + " holds all that " + options.from + " held");
    return made->damage.empty() ? 0 : kExitFailure;
}

}  // namespace

void add_backup_commands(CLI::App& app, Invocation& invocation) {
    const auto [backup, options] = add_command<BackupOptions>(
        app, invocation, "backup", "Copy a store as it is now, also beside a live gateway", run_backup);
    backup->footer(
        "Table files are shared with the store by hard links if both are on one file\n"
        "system: that takes no time and no space, and protects from deletion, not from a\n"
        "broken disk. The backup gets its name when it is complete; an interrupted one\n"
        "is called DIR.incomplete, and the next one of that name replaces it.");
    add_options(*backup,
                {{"--data DIR", options->from, "Folder of the store", is_not_empty, shows_default},
                 {"--to DIR", options->to, "Folder of the backup: a new or an empty one", is_not_empty, is_required}});

    const auto [restore, restored] =
        add_command<BackupOptions>(app, invocation, "restore", "Make a store of a backup", run_backup);
    restored->what = "restore";
    restore->footer(
        "The backup stays as it is. Rows that collectors delivered after it was made are\n"
        "not in it, and they don't send them again: ledgers name those rows as missing.");
    add_options(*restore, {{"--from DIR", restored->from, "Folder of the backup", is_not_empty, is_required},
                           {"--data DIR", restored->to, "Folder of the store: a new or an empty one", is_not_empty,
                            is_required}});
}

}  // namespace perfleet
