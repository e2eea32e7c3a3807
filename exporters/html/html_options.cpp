#include "exporters/html/html_options.h"

namespace perfleet {

const OptionTable<HtmlOptions>& html_options() {
    static const OptionTable<HtmlOptions> kTable =
        OptionTable<HtmlOptions>{}
            .value({"before", OptionType::kText, "SIDE",
                    "compare with this: a session (digits, last~1), '{version=\"1\"}', -2h..-1h, or several of them; "
                    "what it leaves out is as selected"},
                   &HtmlOptions::before)
            .value({"title", OptionType::kText, "TEXT", "title of the page (default: what was recorded where)"},
                   &HtmlOptions::title)
            .value({.name = "slices",
                    .type = OptionType::kCount,
                    .value_name = "N",
                    .summary = "equal parts of time that the page can select, at most; 0: none, and no intervals "
                               "(default: 100)",
                    .max = kHtmlSlicesMax},
                   &HtmlOptions::slice_count)
            .flag("addresses", &HtmlOptions::each_address, "show each address that has no symbol, not its image alone")
            .flag("inlines", &HtmlOptions::has_inlines,
                  "show inlined functions as calls, from debug information (`NAME (inlined)`)")
            .flag("weight", &HtmlOptions::sum_weights, "sum the event's unit instead of counting samples");
    return kTable;
}

}  // namespace perfleet
