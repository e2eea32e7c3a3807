#include "exporters/html/html_options.h"

#include "query-engine/statistic/answer/usage.h"

namespace perfleet {

namespace {

OptionTable<HtmlOptions> make_options() {
    OptionTable<HtmlOptions> table;
    table
        .value({"before", OptionType::kText, "SIDE",
                "compare with this: a session (digits, last~1), '{version=\"1\"}', -2h..-1h, or several of them; parts "
                "that it omits are those of the selection"},
               &HtmlOptions::before)
        .flag("within-run", &HtmlOptions::is_within_run,
              "with --before: verdicts are about these runs, not about further ones, as in perfleet diff")
        .value({"title", OptionType::kText, "TEXT", "title of the page (default: the command and its target)"},
               &HtmlOptions::title)
        .value({.name = "slices",
                .type = OptionType::kCount,
                .value_name = "N",
                .summary = "equal parts of time that the page can select, at most; 0: none, and no intervals "
                           "(default: 100)",
                .max = kHtmlSlicesMax},
               &HtmlOptions::slice_count)
        .flag("addresses", &HtmlOptions::each_address,
              "show each address that has no symbol, not its function or image")
        .flag("inlines", &HtmlOptions::has_inlines,
              "show inlined functions as calls, from debug information (`NAME (inlined)`)");
    add_slowest_options(table, &HtmlOptions::slowest);
    table.choice({.name = "as",
                  .value_name = "FORMAT",
                  .summary = "html, svg, png, or json: the page's data (default: as the name of the file ends)"},
                 &HtmlOptions::format, {{"html", "html"}, {"svg", "svg"}, {"png", "png"}, {"json", "json"}});
    return table.finish([](const OptionValues&, HtmlOptions& options) -> Result<Done> {
        if (options.is_within_run && options.before.empty()) {
            return usage("--within-run: is of a comparison; give --before, too");
        }
        if (options.slowest.is_given() && !options.before.empty()) {
            return usage("--before: not together with --slowest, which compares with the other operations");
        }
        if ((options.format == "svg" || options.format == "png") &&
            (options.slowest.is_given() || !options.before.empty())) {
            return usage("--as " + options.format + ": a figure compares nothing; name the page FILE.html");
        }
        return check_slowest(options.slowest);
    });
}

}  // namespace

const OptionTable<HtmlOptions>& html_options() {
    static const OptionTable<HtmlOptions> kTable = make_options();
    return kTable;
}

}  // namespace perfleet
