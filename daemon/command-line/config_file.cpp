#include "daemon/command-line/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/option/program_options.h"
#include "schemas/host/suggestion.h"

namespace perfleet {
namespace {

std::vector<CLI::App*> commands_of(CLI::App& app) {
    return app.get_subcommands([](CLI::App*) { return true; });
}

// "event" is --event, "g" is -g.
CLI::Option* option_of_key(CLI::App& app, const std::string& key) {
    CLI::Option* const option = app.get_option_no_throw((key.size() == 1 ? "-" : "--") + key);
    return option != nullptr && option->get_configurable() ? option : nullptr;
}

void add_keys_of(CLI::App& app, std::vector<std::string>& keys) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_configurable()) {
            keys.insert(keys.end(), option->get_lnames().begin(), option->get_lnames().end());
        }
    }
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

// The value as on the command line; nothing for other types of values.
std::optional<std::string> text_of(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) {
        return text;
    }
    if (const auto number = node.value_exact<std::int64_t>()) {
        return std::to_string(*number);
    }
    if (const auto number = node.value_exact<double>()) {
        std::string digits = std::to_string(*number);
        digits.erase(digits.find_last_not_of('0') + 1);
        return digits.ends_with('.') ? digits + "0" : digits;
    }
    return std::nullopt;
}

// Numbers as numbers, everything else as a basic string (TOML 1.0).
std::string toml_text(const std::string& value) {
    constexpr std::size_t kDigitsMax = 18;  // fit into 64 bits
    const bool is_number = !value.empty() && value.size() <= kDigitsMax &&
                           value.find_first_not_of("0123456789") == std::string::npos &&
                           (value.size() == 1 || value.front() != '0');
    if (is_number) {
        return value;
    }
    std::string text = "\"";
    for (const char character : value) {
        const auto byte = static_cast<unsigned char>(character);
        if (byte < 0x20 || byte == 0x7F) {
            constexpr std::string_view kDigits = "0123456789ABCDEF";
            text += std::string{"\\u00"} + kDigits[byte >> 4U] + kDigits[byte & 0xFU];
        } else {
            text += character == '"' || character == '\\' ? std::string{'\\', character} : std::string{character};
        }
    }
    return text + "\"";
}

std::string toml_array(const std::vector<std::string>& values) {
    std::vector<std::string> texts(values.size());
    std::transform(values.begin(), values.end(), texts.begin(), toml_text);
    return "[" + CLI::detail::join(texts, ", ") + "]";
}

std::string key_of(const CLI::Option& option) {
    return option.get_lnames().empty() ? option.get_snames().front() : option.get_lnames().front();
}

bool is_help_asked(CLI::App& app) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return (app.get_help_ptr() != nullptr && app.get_help_ptr()->count() > 0) ||
           std::any_of(chosen.begin(), chosen.end(), [](CLI::App* command) { return is_help_asked(*command); });
}

// The program and the chosen commands, innermost last.
std::vector<CLI::App*> chosen_apps(CLI::App& app) {
    std::vector<CLI::App*> apps{&app};
    while (!apps.back()->get_subcommands().empty()) {
        apps.push_back(apps.back()->get_subcommands().back());
    }
    return apps;
}

}  // namespace

// Turns the tables of a file into settings.
struct ConfigFiles::Reader {
    ConfigFiles& config;
    std::string file;
    std::vector<Setting> settings;  // those of inner tables first: they take precedence

    void read(const toml::table& table, CLI::App& app) {
        const std::vector<CLI::App*> commands = commands_of(app);
        std::vector<Setting> own;
        for (const auto& [name, node] : table) {
            const std::string key{name.str()};
            const std::uint32_t line = name.source().begin.line;
            const auto command = std::find_if(commands.begin(), commands.end(),
                                              [&](const CLI::App* known) { return known->get_name() == key; });
            if (node.is_table() && command != commands.end()) {
                read(*node.as_table(), **command);
                continue;
            }
            std::vector<CLI::App*> apps{&app};
            apps.insert(apps.end(), commands.begin(), commands.end());
            bool is_known = false;
            for (CLI::App* const holder : apps) {
                if (CLI::Option* const option = option_of_key(*holder, key)) {
                    const bool is_first = !is_known;
                    is_known = true;
                    add(*holder, *option, {key, line, &app != holder}, node, is_first, own);
                }
            }
            if (!is_known) {
                fail_unknown(app, commands, key, node.is_table(), line);
            }
        }
        settings.insert(settings.end(), own.begin(), own.end());
    }

private:
    struct Key {
        std::string name;
        std::uint32_t line = 0;
        bool is_of_all = false;
    };

    // If a key sets several options, faults are reported for the first one only.
    void add(CLI::App& app, CLI::Option& option, const Key& key, const toml::node& node, bool is_first,
             std::vector<Setting>& own) {
        Setting setting{&app, &option, key.name, {}, file, key.line, key.is_of_all};
        const auto refuse = [&](const char* text) {
            if (is_first) {
                config.fail(file, key.line, key.name + ": " + text);
            }
        };
        if (is_flag(option)) {
            const auto is_set = node.value_exact<bool>();
            if (!is_set) {
                return refuse("is true or false");
            }
            if (*is_set) {
                setting.values = {"true"};
                own.push_back(std::move(setting));
            }
            return;
        }
        std::vector<const toml::node*> nodes{&node};
        if (const toml::array* const array = node.as_array()) {
            nodes.clear();
            for (const toml::node& element : *array) {
                nodes.push_back(&element);
            }
        }
        for (const toml::node* element : nodes) {
            std::optional<std::string> text = text_of(*element);
            if (!text) {
                return refuse("takes a text, a number, or an array of them");
            }
            setting.values.push_back(std::move(*text));
        }
        if (setting.values.size() > 1 && option.get_items_expected_max() == 1) {
            return refuse("takes one value");
        }
        own.push_back(std::move(setting));
    }

    void fail_unknown(CLI::App& app, const std::vector<CLI::App*>& commands, const std::string& key, bool is_table,
                      std::uint32_t line) {
        std::vector<std::string> names;
        if (is_table) {
            for (const CLI::App* command : commands) {
                names.push_back(command->get_name());
            }
            config.fail(file, line, "unknown table [" + key + "]" + did_you_mean(key, names));
            return;
        }
        add_keys_of(app, names);
        for (CLI::App* command : commands) {
            add_keys_of(*command, names);
        }
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        config.fail(file, line, "unknown key '" + key + "'" + did_you_mean(key, names));
    }
};

std::vector<std::string> default_config_files(const CLI::App& app) {
    const std::string name = "/perfleet/" + app.get_name() + ".toml";
    std::vector<std::string> files;
    const char* const config_home = std::getenv("XDG_CONFIG_HOME");
    const char* const home = std::getenv("HOME");
    if (config_home != nullptr && config_home[0] == '/') {
        files.push_back(config_home + name);
    } else if (home != nullptr && home[0] == '/') {
        files.push_back(std::string{home} + "/.config" + name);
    }
    const bool is_daemon = app.get_subcommands([](const CLI::App*) { return true; }).empty();
    if (!is_daemon) {
        files.push_back("/etc" + name);
    }
    return files;
}

ConfigFiles::ConfigFiles(CLI::App& app) : app_{app} {
    keep_values_as_written(app);
    const auto has_no_key = [](CLI::Option& option, CLI::App&) { option.configurable(false); };
    // CLI11 handles it after the command line, and calls it even if it isn't given.
    add_options(app, {{"--config FILE",
                       [this](const std::string& file) {
                           file_ = file;
                           load();
                       },
                       "Config file, instead of the default ones: perfleet.conf(5)",
                       [](CLI::Option& option, CLI::App&) { option.configurable(false)->force_callback(); }},
                      {"--check-config", is_check_, "Check the config files and exit", has_no_key, is_called_in_order},
                      {"--show-config", is_show_, "Print the effective settings and the source of each, and exit",
                       has_no_key, is_called_in_order}});
}

// --show-config prints values as they were written: 30d, not the seconds that an option makes of it.
void ConfigFiles::keep_values_as_written(CLI::App& app) {
    for (CLI::Option* const option : app.get_options()) {
        if (option->get_configurable() && !is_flag(*option)) {
            option->transform(CLI::Validator{[this, option](std::string& value) {
                                                 written_[option].push_back(value);
                                                 return std::string{};
                                             },
                                             ""});
        }
    }
    for (CLI::App* const command : commands_of(app)) {
        keep_values_as_written(*command);
    }
}

void ConfigFiles::fail(const std::string& file, std::uint32_t line, std::string text) {
    problems_.push_back({file, line, std::move(text)});
}

std::string ConfigFiles::problems_text() {
    const auto place = [](const Problem& problem) { return std::tie(problem.file, problem.line, problem.text); };
    std::sort(problems_.begin(), problems_.end(),
              [&](const Problem& a, const Problem& b) { return place(a) < place(b); });
    problems_.erase(std::unique(problems_.begin(), problems_.end(),
                                [&](const Problem& a, const Problem& b) { return place(a) == place(b); }),
                    problems_.end());
    std::string text;
    for (const Problem& problem : problems_) {
        text += text.empty() ? "" : "\n";
        text += problem.file + (problem.line == 0 ? "" : ":" + std::to_string(problem.line)) + ": " + problem.text;
    }
    return text;
}

void ConfigFiles::load() {
    if (is_help_asked(app_)) {
        return;
    }
    const bool is_given = !file_.empty();
    std::vector<Setting> settings;
    for (const std::string& file : is_given ? std::vector{file_} : default_config_files(app_)) {
        std::error_code error;
        if (!is_given && !std::filesystem::exists(file, error)) {
            continue;
        }
        read_.push_back(file);
        if (std::filesystem::is_directory(file, error)) {
            fail(file, 1, "is a folder, not a file");
        }
        try {
            Reader reader{*this, file, {}};
            reader.read(toml::parse_file(file), app_);
            settings.insert(settings.end(), reader.settings.begin(), reader.settings.end());
        } catch (const toml::parse_error& fault) {
            fail(file, fault.source().begin.line, std::string{fault.description()});
        }
    }
    apply(std::move(settings));
    if (!problems_.empty()) {
        throw CLI::ConfigError(problems_text(), CLI::ExitCodes::ConfigError);
    }
    if (is_show_) {
        throw CLI::CallForVersion(settings_text(), 0);
    }
    if (is_check_) {
        if (const std::vector<std::string> unknown = app_.remaining(true); !unknown.empty()) {
            throw CLI::ExtrasError{unknown};
        }
        throw CLI::CallForVersion(
            read_.empty() ? "no config file" : CLI::detail::join(read_, ": no fault found\n") + ": no fault found", 0);
    }
}

void ConfigFiles::apply(std::vector<Setting> settings) {
    // Settings of all commands for --check-config and --show-config, otherwise those of the chosen command.
    if (!is_check_ && !is_show_) {
        const std::vector<CLI::App*> chosen = chosen_apps(app_);
        std::erase_if(settings, [&](const Setting& setting) {
            return std::find(chosen.begin(), chosen.end(), setting.app) == chosen.end();
        });
    }
    // The command line overrides its own options, and those that exclude a given one or need an overridden one.
    const auto is_given = [](const CLI::Option* option) { return option->count() > 0; };
    std::set<const CLI::Option*> dropped;
    const auto gives_way = [&](const Setting& setting) {
        const std::set<CLI::Option*> excluded = setting.option->get_excludes();
        const std::set<CLI::Option*> needed = setting.option->get_needs();
        return is_given(setting.option) || std::any_of(excluded.begin(), excluded.end(), is_given) ||
               std::any_of(needed.begin(), needed.end(),
                           [&](const CLI::Option* option) { return dropped.contains(option) && !is_given(option); });
    };
    for (std::size_t before = settings.size() + 1; before != settings.size();) {
        before = settings.size();
        for (const Setting& setting : settings) {
            if (gives_way(setting)) {
                dropped.insert(setting.option);
            }
        }
        std::erase_if(settings, gives_way);
    }
    // A key for all commands is wrong only if no option takes its value: equally named options may differ.
    using Place = std::pair<std::string, std::uint32_t>;
    std::map<Place, std::string> refused_by_all;
    std::set<Place> taken;
    for (const Setting& setting : settings) {
        if (from_.contains(setting.option)) {
            continue;  // set by an earlier file or an inner table
        }
        const Place place{setting.file, setting.line};
        try {
            setting.option->add_result(setting.values);
            setting.option->run_callback();
            from_.emplace(setting.option, Source{setting.file, setting.line, setting.is_of_all});
            taken.insert(place);
        } catch (const CLI::ParseError& error) {
            setting.option->clear();
            written_.erase(setting.option);
            const std::string what = error.what();
            const std::string name = setting.option->get_name() + ": ";
            const std::string text = setting.key + ": " + (what.starts_with(name) ? what.substr(name.size()) : what);
            if (setting.is_of_all) {
                refused_by_all.emplace(place, text);
            } else {
                fail(setting.file, setting.line, text);
            }
        }
    }
    for (const auto& [place, text] : refused_by_all) {
        if (!taken.contains(place)) {
            fail(place.first, place.second, text);
        }
    }
    check_pairs();
}

// Checks options that exclude or need each other. Faults of the command line aren't blamed on a file.
void ConfigFiles::check_pairs() {
    for (const auto& [option, source] : from_) {
        if (source.is_of_all) {
            continue;
        }
        for (const CLI::Option* other : option->get_excludes()) {
            const auto beside = from_.find(other);
            if (beside != from_.end() && !beside->second.is_of_all && key_of(*option) < key_of(*other)) {
                fail(source.file, source.line,
                     key_of(*option) + ": excludes " + key_of(*other) + " (" + beside->second.file + ":" +
                         std::to_string(beside->second.line) + ")");
            }
        }
        for (const CLI::Option* other : option->get_needs()) {
            if (other->count() == 0) {
                fail(source.file, source.line, key_of(*option) + ": needs " + key_of(*other));
            }
        }
    }
}

// The value in effect: set or default.
std::string ConfigFiles::value_of(const CLI::Option& option) const {
    if (is_flag(option)) {
        return option.results().back() == "false" ? "false" : "true";
    }
    if (option.count() == 0) {
        // A list as CLI11 writes it: [one,two].
        const std::string text = option.get_default_str();
        const bool is_list =
            option.get_items_expected_max() > 1 && text.size() >= 2 && text.front() == '[' && text.back() == ']';
        return is_list ? toml_array(CLI::detail::split(text.substr(1, text.size() - 2), ',')) : toml_text(text);
    }
    const auto written = written_.find(&option);
    const std::vector<std::string>& values = written == written_.end() ? option.results() : written->second;
    return values.size() > 1 || option.get_items_expected_max() > 1 ? toml_array(values) : toml_text(values.front());
}

std::string ConfigFiles::settings_text() const {
    std::string text = "# " + app_.get_name() + ": ";
    text += read_.empty() ? "no config file; read would be " + CLI::detail::join(default_config_files(app_), ", ")
                          : CLI::detail::join(read_, ", ");
    text += "\n";
    add_settings_of(app_, "", text);
    text.pop_back();  // the end of the line is added when it is printed
    return text;
}

void ConfigFiles::add_settings_of(CLI::App& app, const std::string& table, std::string& text) const {
    std::vector<std::pair<std::string, std::string>> lines;
    if (table.empty()) {
        // A key for all commands is one line, as text if some options take one value and others a list.
        std::map<std::pair<std::string, std::string>, std::string> values;  // by key and place
        for (const auto& [option, source] : from_) {
            if (source.is_of_all) {
                const std::string value = value_of(*option);
                const auto [shown, is_new] =
                    values.try_emplace({key_of(*option), source.file + ":" + std::to_string(source.line)}, value);
                shown->second = shown->second.starts_with('[') ? value : shown->second;
            }
        }
        for (const auto& [key_and_place, value] : values) {
            lines.emplace_back(key_and_place.first + " = " + value, key_and_place.second);
        }
    }
    for (const CLI::Option* option : app.get_options()) {
        const auto source = from_.find(option);
        const bool is_set = option->count() > 0;
        const std::set<CLI::Option*> excluded = option->get_excludes();
        const bool is_excluded =
            std::any_of(excluded.begin(), excluded.end(), [](const CLI::Option* other) { return other->count() > 0; });
        if (!is_set && is_excluded) {
            continue;  // has no default in effect
        }
        if (option->get_configurable() && !option->get_positional() && (is_set || !option->get_default_str().empty()) &&
            (source == from_.end() || !source->second.is_of_all)) {
            lines.emplace_back(key_of(*option) + " = " + value_of(*option),
                               source != from_.end() ? source->second.file + ":" + std::to_string(source->second.line)
                               : is_set              ? "command line"
                                                     : "default");
        }
    }
    std::size_t width = 0;
    for (const auto& [line, from] : lines) {
        width = std::max(width, line.size());
    }
    text += lines.empty() || table.empty() ? "" : "\n[" + table + "]\n";
    for (const auto& [line, from] : lines) {
        text += line + std::string(width - line.size(), ' ') + "  # " + from + "\n";
    }
    for (CLI::App* const command : commands_of(app)) {
        add_settings_of(*command, table + (table.empty() ? "" : ".") + command->get_name(), text);
    }
}

}  // namespace perfleet
