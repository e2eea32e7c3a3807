// export: a file for other tools. Formats that are commands of their own, like script, write to standard output.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "daemon/option/program_options.h"
#include "exporters/format/export_format.h"
#include "exporters/report/report.h"
#include "query-engine/select/selection_options.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/frame_filter.h"
#include "query-engine/wire/query_client.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/layout.h"
#include "tools/perfleet/query/export_run.h"
#include "tools/perfleet/query/perf_commands.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/query/symbol_archive.h"
#include "tools/perfleet/shell/figure_file.h"
#include "tools/perfleet/shell/file_sink.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/pager.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

class StandardOutputSink : public ExportSink {
public:
    void start_pager() { pager_ = Pager::start(); }
    void end_pager() { pager_.reset(); }
    [[nodiscard]] bool has_reader_left() const { return has_reader_left_; }

    Result<Done> write_at(std::uint64_t, std::span<const std::byte> bytes) override {
        if (pager_ != nullptr) {
            has_reader_left_ =
                !pager_->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) || has_reader_left_;
            return has_reader_left_ ? Result<Done>{Error{ErrorCode::kIo, "the pager has ended"}} : Done{};
        }
        if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0) {
            return error_from_errno(errno, "standard output");
        }
        return Done{};
    }

private:
    std::unique_ptr<Pager> pager_;
    bool has_reader_left_ = false;
};

Result<QueryEnd> write_export(ExportOptions& options, const ExportFormat& format, ExportSink& sink) {
    PERFLEET_TRY(format.check(options.query.values));
    Query query{format.is_command ? format.name : "export", options.query.values};
    if (!format.is_command) {
        query.values["format"] = format.name;
    }
    return ask_file(options.query, std::move(query), sink);
}

// The file's name chooses the format, and the format a file's name, unless both are given.
Result<Done> choose_format_and_file(ExportOptions& options) {
    const ExportFormat* const named = format_of_file(options.output);
    if (options.format.empty()) {
        if (named == nullptr) {
            return Error{ErrorCode::kUsage,
                         (options.output.empty() ? "which format?" : "-o " + options.output + ": which format?") +
                             " --to FORMAT says it, or a file's name: " + file_names_text()};
        }
        options.format = named->name;
    }
    if (options.output.empty()) {
        options.output = file_name_for(*find_export_format(options.format));
    }
    return Done{};
}

// The options of `export`. One that several formats share is listed once.
std::vector<OptionSpec> options_of_formats() {
    std::vector<OptionSpec> all;
    for (const ExportFormat& format : export_formats()) {
        for (const OptionSpec& option : format.options) {
            if (!format.has_own_command && !format.is_command && find_option(all, option.name) == nullptr) {
                all.push_back(option);
            }
        }
    }
    return all;
}

}  // namespace

Result<int> run_export(ExportOptions& options) {
    const ExportFormat& format = *find_export_format(options.format);
    if (const auto figure = figure_format_of(options.output); figure && find_option(format.options, "as") != nullptr) {
        options.query.values.try_emplace("as", *figure);
    }
    PERFLEET_TRY(follow_file_name(format, options.output, options.query.values));
    const bool to_standard_output = options.output == "-";
    if (to_standard_output && !format.is_sequential) {
        options.query.values["pipe"] = true;
    }
    if (options.has_symbols && (to_standard_output || options.format != "perf.data")) {
        return Error{ErrorCode::kUsage, "--with-symbols: is for --to perf.data -o FILE"};
    }
    for (const OptionSpec& option : options_of_formats()) {
        if (options.query.values.contains(option.name) && find_option(format.options, option.name) == nullptr) {
            return Error{ErrorCode::kUsage, "--" + option.name + ": isn't for --to " + format.name +
                                                " (perfleet export --help says for which formats it is)"};
        }
    }
    StandardOutputSink standard_output;
    const auto given_format = options.query.values.find("format");
    const bool is_json =
        given_format != options.query.values.end() && given_format->second == OptionValue{std::string{"json"}};
    if (to_standard_output && format.is_command && !options.has_no_pager && !is_json) {
        standard_output.start_pager();
    }
    std::unique_ptr<FileSink> file;
    if (!to_standard_output) {
        const ExistingFile existing = options.is_forced  ? ExistingFile::kReplace
                                      : format.keeps_old ? ExistingFile::kKeepOld
                                                         : ExistingFile::kRefuse;
        file = PERFLEET_TRY(FileSink::create(options.output, existing));
    }
    PERFLEET_TRY(options.make_rows ? options.make_rows() : Done{});
    ExportSink& sink = to_standard_output ? static_cast<ExportSink&>(standard_output) : *file;
    const Result<QueryEnd> outcome = write_export(options, format, sink);
    standard_output.end_pager();
    if (standard_output.has_reader_left()) {
        return 0;
    }
    if (!outcome.ok()) {
        return outcome.error();
    }
    if (file != nullptr) {
        PERFLEET_TRY(file->commit(outcome->modified));
        print_note(options.output + ": " + printable(outcome->summary));
    }
    if (options.has_symbols) {
        const auto archive = PERFLEET_TRY(archive_symbols(options.output, options.query.symbol_paths()));
        print_note(archive.folder + ": " + counted_noun(archive.file_count, "file") +
                   " with symbols (perf --buildid-dir " + archive.folder + " report -i " + options.output + ")");
        std::for_each(archive.missing.begin(), archive.missing.end(),
                      [](const std::string& path) { print_warning(path + ": no file with its build-id is here"); });
    }
    print_note("rows: " + ledger_line(outcome->ledger));
    std::for_each(outcome->warnings.begin(), outcome->warnings.end(), print_warning);
    return 0;
}

void add_export_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<ExportOptions>(
        app, invocation, "export", "Write a file for other tools, or a flame graph for browsers",
        [](ExportOptions& given) -> Result<int> {
            PERFLEET_TRY(choose_format_and_file(given));
            return run_export(given);
        });
    options->output.clear();
    // --to is the format here, not another name of --until.
    std::vector<OptionSpec> selection{selection_options().begin(), selection_options().end()};
    for (OptionSpec& option : selection) {
        std::erase(option.aliases, "to");
    }
    options->query.add_to(*command, selection);
    options->query.add_input_to(*command);
    std::vector<std::string> names;
    std::string summary;
    for (const ExportFormat& format : export_formats()) {
        if (!format.is_command) {
            names.push_back(format.name);
            summary += (summary.empty() ? "" : "; ") + format.name + ": " + format.summary;
        }
    }
    add_options(
        *command,
        {{"--to FORMAT", options->format, "default: by the suffix of the file's name. " + summary, is_one_of(names)},
         {"-o,--output FILE", options->output,
          "file to write; - for standard output. Default: perf.data, or profile with the format's suffix",
          is_not_empty},
         force_row(options->is_forced, " (without: a perf.data is kept as FILE.old, others are an error)")});
    add_options(*command, options_of_formats(), options->query.values);
    add_options(*command, {{"--with-symbols", options->has_symbols,
                            "perf.data: also copy the programs and libraries with samples into FILE.debug, in the "
                            "layout of perf's build-id cache, so that perf has their symbols on other machines"}});

    for (const ExportFormat& format : export_formats()) {
        if (format.is_command) {
            const auto [own, own_options] =
                add_command<ExportOptions>(app, invocation, format.name, format.summary, run_export);
            own_options->format = format.name;
            add_options(*own, format.options, own_options->query.values);
            const auto all = selection_options();
            own_options->query.add_to(*own, with_perf_aliases(format.name, {all.begin(), all.end()}));
            own_options->query.add_input_to(*own);
            add_options(*own, {no_pager_row(own_options->has_no_pager),
                               {"file FILE", own_options->query.input, "a perf.data file or a profile of pprof, as -i",
                                is_not_empty, excludes({"--input", "--data", "--gateway"})}});
        }
    }
}

}  // namespace perfleet
