// Config files: TOML whose keys are the names of a program's options. The command line overrides the user's file, which
// overrides the system's. In a program with commands, keys before the first table apply to all commands with such an
// option; keys in [COMMAND] apply to that command and override those.
//
// A file's setting is ignored if it excludes an option on the command line. Positional arguments have no keys.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

// The files that a program reads without --config: $XDG_CONFIG_HOME/perfleet/PROGRAM.toml, or the same below ~/.config;
// then, for a program with commands, /etc/perfleet/PROGRAM.toml. A daemon's system file is only for its service, whose
// unit passes --config: a daemon started by hand uses neither its ports nor its keys.
[[nodiscard]] std::vector<std::string> default_config_files(const CLI::App& app);

// The config files of one program. Must live while its CLI::App parses.
class ConfigFiles : NonCopyable {
public:
    // Adds --config, --check-config and --show-config. Parsing throws CLI::ConfigError with every fault of the files,
    // as FILE:LINE: what is wrong.
    explicit ConfigFiles(CLI::App& app);

private:
    struct Setting {
        CLI::App* app = nullptr;
        CLI::Option* option = nullptr;
        std::string key;
        std::vector<std::string> values;
        std::string file;
        std::uint32_t line = 0;
        bool is_of_all = false;  // before the first table, in a program with commands
    };
    struct Problem {
        std::string file;
        std::uint32_t line = 0;  // 0: the file as a whole
        std::string text;
    };
    struct Source {
        std::string file;
        std::uint32_t line = 0;
        bool is_of_all = false;
    };
    struct Reader;

    void load();
    void keep_values_as_written(CLI::App& app);
    void apply(std::vector<Setting> settings);
    void check_pairs();
    void fail(const std::string& file, std::uint32_t line, std::string text);
    [[nodiscard]] std::string problems_text();
    [[nodiscard]] std::string settings_text() const;
    [[nodiscard]] std::string value_of(const CLI::Option& option) const;
    void add_settings_of(CLI::App& app, const std::string& table, std::string& text) const;

    CLI::App& app_;
    std::string file_;
    bool is_check_ = false;
    bool is_show_ = false;
    std::vector<std::string> read_;  // existing files
    std::vector<Problem> problems_;
    std::map<const CLI::Option*, Source> from_;  // options set by a file
    std::map<const CLI::Option*, std::vector<std::string>>
        written_;  // as written, before sizes and durations are converted to numbers
};

}  // namespace perfleet
