#include "daemon/option/program_options.h"

#include <cmath>
#include <cstdlib>

namespace perfleet {
namespace {

// "--limit,-n"
std::string names_of(const OptionSpec& option) {
    std::string names = "--" + option.name;
    for (const std::string& alias : option.aliases) {
        names += (alias.size() == 1 ? ",-" : ",--") + alias;
    }
    return names;
}

// CLI11 puts the option's name before each error.
std::string without_name(const std::string& names, const std::string& error) {
    return error.starts_with(names) ? error.substr(names.size()) : error;
}

OptionRow row_of(const OptionSpec& option, OptionValues& values) {
    if (option.type == OptionType::kFlag) {
        return {names_of(option), [&values, name = option.name] { values[name] = true; }, option.summary};
    }
    const auto read = [&values, option](const std::vector<std::string>& texts) {
        std::string joined;
        for (const std::string& text : texts) {
            joined += (joined.empty() ? "" : ",") + text;  // empty ones are kept, to be refused
        }
        Result<OptionValue> value = parse_option(option, joined);
        if (!value.ok()) {
            const std::string name = "--" + option.name;
            throw CLI::ValidationError(name, without_name(name + ": ", value.error().message));
        }
        values.insert_or_assign(option.name, std::move(value).value());
    };
    const auto takes_lists = [is_list = option.is_list](CLI::Option& added, CLI::App&) {
        added.expected(1)
            ->allow_extra_args(false)  // otherwise [vdso] would be a list of one
            ->multi_option_policy(is_list ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::Throw);
    };
    const std::string form = names_of(option) + " " + option.value_name;
    return option.choices.empty() ? OptionRow{form, read, option.summary, takes_lists}
                                  : OptionRow{form, read, option.summary, takes_lists, is_one_of(option.choices)};
}

}  // namespace

void add_options(CLI::App& app, const std::vector<OptionRow>& rows, const std::string& group) {
    std::vector<CLI::Option*> added;
    for (const OptionRow& row : rows) {
        added.push_back(row.add_(app, row)->group(group));
        if (!row.value_name_.empty()) {
            added.back()->type_name(row.value_name_);
        }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (const OptionRule& rule : rows[i].rules_) {
            if (rule) {
                rule(*added[i], app);
            }
        }
    }
}

void add_options(CLI::App& app, std::span<const OptionSpec> options, OptionValues& values, const std::string& group) {
    std::vector<OptionRow> rows;
    for (const OptionSpec& option : options) {
        rows.push_back(row_of(option, values));
    }
    add_options(app, rows, group);
}

void is_required(CLI::Option& option, CLI::App&) { option.required(); }
void is_hidden(CLI::Option& option, CLI::App&) { option.group(""); }
void is_at_end(CLI::Option&, CLI::App& app) { app.positionals_at_end(); }
void is_one_each(CLI::Option& option, CLI::App&) { option.allow_extra_args(false); }
void is_comma_list(CLI::Option& option, CLI::App&) { option.delimiter(',')->allow_extra_args(false); }
void is_called_in_order(CLI::Option& option, CLI::App&) { option.trigger_on_parse(); }
void is_size(CLI::Option& option, CLI::App&) { option.transform(CLI::AsSizeValue{false}); }
void shows_default(CLI::Option& option, CLI::App&) { option.capture_default_str(); }

// An empty path, endpoint or key would mean "none": `--key "$KEY"` with an unset variable would start a program without
// keys.
void is_not_empty(CLI::Option& option, CLI::App&) {
    option.check([](const std::string& text) {
        return text.empty() ? "is empty (a variable that isn't set?); leave it out, or give it a value" : "";
    });
}

// "nan" is neither below nor above any bound. Other checks refuse texts that aren't numbers.
void is_not_nan(CLI::Option& option, CLI::App&) {
    option.check([](const std::string& text) {
        return std::isnan(std::strtod(text.c_str(), nullptr)) ? "'" + text + "' is no number" : "";
    });
}

void is_label(CLI::Option& option, CLI::App&) {
    option.allow_extra_args(false)->check([](const std::string& text) {
        const std::size_t equals = text.find('=');
        return equals == std::string::npos || equals == 0 ? "'" + text + "' is no label; write KEY=VALUE" : "";
    });
}

OptionRule shows_default_of(std::string text) {
    return [text = std::move(text)](CLI::Option& option, CLI::App&) { option.default_str(text); };
}

OptionRule is_one_of(std::vector<std::string> choices) { return is_checked_by(CLI::IsMember{std::move(choices)}); }

OptionRule is_checked_by(CLI::Validator check) {
    return [check = std::move(check)](CLI::Option& option, CLI::App&) { option.check(check); };
}

OptionRule is_checked_by(std::function<std::string(const std::string& text)> check) {
    return [check = std::move(check)](CLI::Option& option, CLI::App&) { option.check(check); };
}

OptionRule is_made_by(CLI::Validator transform) {
    return [transform = std::move(transform)](CLI::Option& option, CLI::App&) { option.transform(transform); };
}

OptionRule passes(std::function<Result<Done>(const std::string& text)> check) {
    return [check = std::move(check)](CLI::Option& option, CLI::App&) {
        option.check([check, name = option.get_name() + " "](const std::string& text) {
            const Result<Done> checked = check(text);
            return checked.ok() ? "" : without_name(name, checked.error().message);
        });
    };
}

OptionRule excludes(std::vector<std::string> options) {
    return [options = std::move(options)](CLI::Option& option, CLI::App& app) {
        for (const std::string& other : options) {
            option.excludes(app.get_option(other));
        }
    };
}

OptionRule needs(std::string other) {
    return [other = std::move(other)](CLI::Option& option, CLI::App& app) { option.needs(app.get_option(other)); };
}

OptionRule is_in_group(std::string group) {
    return [group = std::move(group)](CLI::Option& option, CLI::App&) { option.group(group); };
}

OptionRow ceph_conf_row() {
    return {"--ceph-conf FILE", [](const std::string& file) { ::setenv("CEPH_CONF", file.c_str(), 1); },
            "Of a store on RADOS: the cluster's ceph.conf. Default: $CEPH_CONF, or /etc/ceph/ceph.conf",
            is_checked_by(CLI::ExistingFile)};
}

OptionRow log_level_row(std::string& level) {
    return {"--log-level LEVEL", level, "Lowest severity that is logged",
            is_one_of({"error", "warning", "notice", "info", "debug"}), shows_default};
}

OptionRow log_format_row(std::string& format) {
    return {"--log-format FORMAT", format, "Format of the log on standard error", is_one_of({"text", "json"}),
            shows_default};
}

OptionRow memory_row(std::uint64_t& size_bytes, const std::string& summary, const OptionRule& bounds) {
    return {"--memory BYTES", size_bytes, summary, is_size, shows_default_of("1g"), bounds};
}

OptionRow force_row(bool& is_forced, const std::string& details) {
    return {"--force", is_forced, "replace the file of --output if it exists" + details};
}

}  // namespace perfleet
