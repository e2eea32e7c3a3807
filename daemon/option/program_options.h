// The option table of a program or command: one row per option. add_options() alone passes them to CLI11, from which
// help, manual pages, completion and the keys of config files are made.
//
// On the first thread. Variables that rows refer to must outlive the parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "daemon/option/option.h"

namespace perfleet {

// A property of a row beyond names, place and summary: one of the rules below. Applied after all rows of its table
// exist.
using OptionRule = std::function<void(CLI::Option& option, CLI::App& app)>;

class OptionRow {
public:
    // `form`: names, and after a space the name of the value: "-o,--output FILE". Without a value's name it is a flag;
    // without dashes, a positional argument. `place`: a variable, or a function of the text, of all texts, or, for a
    // flag, of nothing.
    template <class Place, class... Rules>
    OptionRow(const std::string& form, Place&& place, std::string summary, Rules... rules)
        : names_{form.substr(0, form.find(' '))},
          value_name_{form.substr(std::min(form.size(), names_.size() + 1))},
          summary_{std::move(summary)},
          rules_{OptionRule{std::move(rules)}...} {
        using Texts = std::vector<std::string>;
        using Held = std::remove_cvref_t<Place>;
        if constexpr (std::is_invocable_v<Held>) {
            add_ = [place](CLI::App& app, const OptionRow& row) {
                return app.add_flag_callback(row.names_, place, row.summary_);
            };
        } else if constexpr (std::is_invocable_v<Held, const std::string&>) {
            add_ = [place](CLI::App& app, const OptionRow& row) {
                return app.add_option_function<std::string>(row.names_, place, row.summary_);
            };
        } else if constexpr (std::is_invocable_v<Held, const Texts&>) {
            add_ = [place](CLI::App& app, const OptionRow& row) {
                return app.add_option_function<Texts>(row.names_, place, row.summary_);
            };
        } else {
            static_assert(std::is_lvalue_reference_v<Place>, "what is parsed goes where it is found afterwards");
            add_ = [&place](CLI::App& app, const OptionRow& row) {
                if constexpr (std::is_same_v<Held, bool> || std::is_same_v<Held, std::string>) {
                    if (row.value_name_.empty() && row.names_.find('-') <= 1) {
                        return app.add_flag(row.names_, place, row.summary_);
                    }
                }
                return app.add_option(row.names_, place, row.summary_);
            };
        }
    }

private:
    friend void add_options(CLI::App& app, const std::vector<OptionRow>& rows, const std::string& group);

    std::string names_;
    std::string value_name_;
    std::string summary_;
    std::vector<OptionRule> rules_;
    std::function<CLI::Option*(CLI::App&, const OptionRow&)> add_;
};

// Adds options in the order of the help.
void add_options(CLI::App& app, const std::vector<OptionRow>& rows, const std::string& group = "Options");

// Adds the options of a query command; given values go into `values`.
void add_options(CLI::App& app, std::span<const OptionSpec> options, OptionValues& values,
                 const std::string& group = "Options");

// Rules.

void is_required(CLI::Option& option, CLI::App& app);
void is_not_empty(CLI::Option& option, CLI::App& app);
void is_not_nan(CLI::Option& option, CLI::App& app);
void is_hidden(CLI::Option& option, CLI::App& app);
void is_at_end(CLI::Option& option, CLI::App& app);           // everything after it belongs to this positional argument
void is_one_each(CLI::Option& option, CLI::App& app);         // takes one value each time it is given
void is_comma_list(CLI::Option& option, CLI::App& app);       // takes values separated by commas, each time it is given
void is_called_in_order(CLI::Option& option, CLI::App& app);  // in the order of the command line
void is_size(CLI::Option& option, CLI::App& app);             // bytes, or with k, m, g
void is_label(CLI::Option& option, CLI::App& app);            // KEY=VALUE
void shows_default(CLI::Option& option, CLI::App& app);

OptionRule shows_default_of(std::string text);
OptionRule is_one_of(std::vector<std::string> choices);
OptionRule is_checked_by(CLI::Validator check);
OptionRule is_checked_by(std::function<std::string(const std::string& text)> check);  // returns the error
OptionRule is_made_by(CLI::Validator transform);
OptionRule excludes(std::vector<std::string> options);
OptionRule needs(std::string option);
OptionRule is_in_group(std::string group);
template <class Number>
OptionRule is_between(Number min, Number max, const std::string& in_words = "") {
    return is_checked_by(CLI::Range(min, max, in_words));
}
// Uses a check whose error begins with the option's name and a space; both are removed, because CLI11 adds the name.
OptionRule passes(std::function<Result<Done>(const std::string& text)> check);

// Rows that several programs have.

// --ceph-conf: where librados finds the cluster, in this process and its child processes.
OptionRow ceph_conf_row();
OptionRow log_level_row(std::string& level);
OptionRow log_format_row(std::string& format);
// The default is 1g unless something else is given.
OptionRow memory_row(std::uint64_t& size_bytes, const std::string& summary, const OptionRule& bounds = {});
OptionRow force_row(bool& is_forced, const std::string& details = "");

}  // namespace perfleet
