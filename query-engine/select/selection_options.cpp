#include "query-engine/select/selection_options.h"
#include "query-engine/limits/query_limits.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <numeric>
#include <utility>

#include "schemas/text/parse.h"
#include "schemas/vocabulary/off_cpu.h"

namespace perfleet {
namespace {

constexpr double kThreadsMax = 64;
constexpr double kMemorySizeBytesMax = 0x1p44;
constexpr std::uint32_t kCpuMax = 65'535;

Error usage(const std::string& message) { return {ErrorCode::kUsage, message}; }

bool is_of_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// How many pairs of brackets each character stands in. Brackets without a partner, as of "Thrower<*" and "operator<",
// count for nothing.
std::vector<int> depths_of(const std::string& text) {
    std::vector<int> changes(text.size() + 1);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < text.size(); ++i) {
        constexpr std::string_view kOpening = "(<[";
        constexpr std::string_view kClosing = ")>]";
        if (kOpening.find(text[i]) != std::string_view::npos) {
            open.push_back(i);
        } else if (const std::size_t kind = kClosing.find(text[i]); kind != std::string_view::npos) {
            const auto partner =
                std::find_if(open.rbegin(), open.rend(), [&](std::size_t at) { return text[at] == kOpening[kind]; });
            if (partner != open.rend()) {
                ++changes[*partner];
                --changes[i];
                open.erase(std::prev(partner.base()), open.end());
            }
        }
    }
    std::partial_sum(changes.begin(), changes.end(), changes.begin());
    return changes;
}

// Globs at commas, but not within brackets: "f(int, char*),g" are two functions, and the star is a pointer's, as it
// follows a type; that of "vector<*>::push_back" isn't.
std::vector<std::string> split_names(const std::string& text) {
    std::vector<std::string> names(1);
    const std::vector<int> depths = depths_of(text);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ',' && depths[i] == 0) {
            names.emplace_back();
            continue;
        }
        const char before = i == 0 ? '<' : text[i - 1];
        if (text[i] == '*' && depths[i] > 0 && (is_of_identifier(before) || before == '*' || before == '>')) {
            names.back() += '\\';
        }
        names.back() += text[i];
    }
    return names;
}

Result<Done> check_size(const std::string& text) {
    return text.size() <= kFilterSizeBytesMax
               ? Result<Done>{Done{}}
               : usage("a filter of more than " + std::to_string(kFilterSizeBytesMax) + " bytes");
}

auto names(std::vector<std::string> RowFilter::*member) {
    return [member](const std::string& text, Selection& selection) -> Result<Done> {
        PERFLEET_TRY(check_size(text));
        selection.filter.*member = split_names(text);
        return Done{};
    };
}

auto cgroup_names(std::vector<std::string> CgroupFilter::*member) {
    return [member](const std::string& text, Selection& selection) -> Result<Done> {
        PERFLEET_TRY(check_size(text));
        selection.filter.cgroups.*member = split_list(text);
        return Done{};
    };
}

// KEY=VALUE,VALUE: a part with an equals sign begins the values of a key.
Result<Done> read_tags(const std::string& text, Selection& selection) {
    PERFLEET_TRY(check_size(text));
    std::vector<RowFilter::Tag>& tags = selection.filter.tags;
    std::size_t current = 0;
    for (const std::string& part : split_names(text)) {
        const std::size_t equals = part.find('=');
        if (equals != std::string::npos) {
            const std::string key = part.substr(0, equals);
            const auto known = std::find_if(tags.begin(), tags.end(), [&](const auto& tag) { return tag.key == key; });
            current = static_cast<std::size_t>(known - tags.begin());
            if (known == tags.end()) {
                tags.push_back({key, {}});
            }
        }
        std::string value = part.substr(equals == std::string::npos ? 0 : equals + 1);
        if (equals == 0 || tags.empty() || value.empty()) {
            return option_error("tag", text, "KEY=VALUE[,VALUE...], such as region=eu,us");
        }
        tags[current].values.push_back(std::move(value));
    }
    return Done{};
}

// Parses whole numbers and ranges A-B, separated by commas.
auto numbers(const char* option, std::vector<std::pair<std::uint32_t, std::uint32_t>> RowFilter::*member,
             std::uint32_t max) {
    return [=](const std::string& text, Selection& selection) -> Result<Done> {
        if (text.size() > kFilterSizeBytesMax) {
            return usage("--" + std::string{option} + ": more than " + std::to_string(kFilterSizeBytesMax) + " bytes");
        }
        for (const std::string& part : split_list(text)) {
            const auto range = range_of<std::uint32_t>(part);
            if (!range || range->second > max) {
                return option_error(option, text, "a list of numbers or ranges, such as 1,4-7");
            }
            (selection.filter.*member).push_back(*range);
        }
        return Done{};
    };
}

auto time_of(const char* option, std::optional<UtcNs> Selection::*member, UtcNs now) {
    return [=](const std::string& text, Selection& selection) -> Result<Done> {
        const Result<UtcNs> time = parse_time(text, now);
        if (!time.ok()) {
            return usage("--" + std::string{option} + ": " + time.error().message);
        }
        selection.*member = *time;
        return Done{};
    };
}

OptionTable<Selection> make_table(UtcNs now) {
    OptionTable<Selection> table;
    table
        .text({"select", OptionType::kText, "MATCHERS",
               "only sessions with these labels: '{target=\"a\", arch=~\"aarch.*\"}'"},
              [](const std::string& text, Selection& selection) -> Result<Done> {
                  selection.matchers = PERFLEET_TRY(parse_matchers(text));
                  return Done{};
              })
        .value({"session", OptionType::kText, "ID",
                "only this session: its name, first digits of its id, last, or last~1"},
               &Selection::session)
        .value({"event", OptionType::kText, "NAME", "only this event"}, &Selection::event)
        .add({"off-cpu", OptionType::kFlag, "",
              "time off the CPU, blocked and runnable (offcpu-time and runqueue-time), as record --off-cpu has it"},
             [](const OptionValue&, Selection& selection) -> Result<Done> {
                 if (selection.event) {
                     return usage("--off-cpu: is an event already; give it or --event");
                 }
                 selection.event = off_cpu::kBlocked;
                 selection.is_off_cpu = true;
                 return Done{};
             })
        .add(
            {.name = "anonymise",
             .type = OptionType::kFlag,
             .value_name = {},
             .summary = "replace names of hosts and folders, and leave arguments of commands out: to show it to others",
             .aliases = {"anonymize"}},
            [](const OptionValue&, Selection& selection) -> Result<Done> {
                selection.is_anonymous = true;
                return Done{};
            })
        .text({"measure", OptionType::kText, "WHAT",
               "meaning of widths: amount (default) of the event, such as ns or bytes; or samples"},
              [](const std::string& text, Selection& selection) -> Result<Done> {
                  if (text != "amount" && text != "samples") {
                      return option_error("measure", text, "amount or samples");
                  }
                  selection.counts_rows = text == "samples";
                  return Done{};
              })
        .text({"from", OptionType::kText, "TIME", "from this time on: RFC 3339, 10:00, today, yesterday, 15m, -2h"},
              time_of("from", &Selection::from, now))
        .text({.name = "until", .value_name = "TIME", .summary = "up to this time, exclusive", .aliases = {"to"}},
              time_of("until", &Selection::to, now))
        .text({"time", OptionType::kText, "RANGE",
               "this part of the recording: 10%-20%, 10%/2, or START,STOP in seconds as script prints them"},
              [](const std::string& text, Selection& selection) -> Result<Done> {
                  const Result<TimeWindow> window = parse_window(text);
                  if (!window.ok()) {
                      return usage("--time: " + window.error().message);
                  }
                  selection.window = *window;
                  return Done{};
              })
        .list("comm", "NAMES", "only rows of threads with these names or globs: nginx,'kworker/*'",
              names(&RowFilter::comms), {"comms"})
        .list("pid", "LIST", "only rows of these processes: 7,10-20", numbers("pid", &RowFilter::pids, INT32_MAX))
        .list("tid", "LIST", "only rows of these threads", numbers("tid", &RowFilter::tids, INT32_MAX))
        .list("image", "NAMES", "only samples in these images: libc.so.6, 'libssl*', /usr/bin/xz, [kernel]",
              names(&RowFilter::images), {"dso", "dsos"})
        .list("symbol", "NAMES", "only samples in these functions: main, 'std::*'", names(&RowFilter::symbols),
              {"symbols"})
        .list("cpu", "LIST", "only rows of these processors: 0,2-3", numbers("cpu", &RowFilter::cpus, kCpuMax), {"C"})
        .list("cgroup", "GLOBS", "only rows of processes in these cgroups or below: /system.slice, 'docker/*'",
              cgroup_names(&CgroupFilter::cgroups))
        .list("container", "IDS", "only rows of these containers: first digits of an id, or a glob",
              cgroup_names(&CgroupFilter::containers))
        .list("pod", "UIDS", "only rows of these Kubernetes pods: first digits of a uid, or a glob",
              cgroup_names(&CgroupFilter::pods))
        .list("unit", "UNITS", "only rows of these systemd units: nginx, 'user@*', system.slice",
              cgroup_names(&CgroupFilter::units))
        .list("tag", "KEY=VALUES",
              "only samples of imported profiles with these labels: region=eu,'us-*' or bytes=4096", read_tags)
        .flag("exact", &Selection::is_exact, "count every row, never from summaries of days")
        .count("threads", "N", "threads of the scan (default: one a core)", &Selection::thread_count, 0, kThreadsMax)
        .value({.name = "memory",
                .type = OptionType::kSize,
                .value_name = "SIZE",
                .summary = "memory for rows and sums: bytes, or with k, m, g (default: 1g)",
                .min = static_cast<double>(limits::kQueryMemorySizeBytesMin),
                .max = kMemorySizeBytesMax},
               &Selection::memory_size_bytes_max)
        .finish([](const OptionValues&, Selection& selection) -> Result<Done> {
            if (selection.from && selection.to && *selection.to <= *selection.from) {
                return usage("--until: is not after --from");
            }
            if (selection.window && (selection.from || selection.to)) {
                return usage("--time: not together with --from and --until");
            }
            return Done{};
        });
    return table;
}

}  // namespace

bool is_row_filter(std::string_view option) {
    constexpr std::array<std::string_view, 9> kFilters{"comm",      "pid", "tid",  "cpu", "cgroup",
                                                       "container", "pod", "unit", "tag"};
    return is_frame_filter(option) || std::ranges::find(kFilters, option) != kFilters.end();
}

std::string filters_text(const OptionValues& values) {
    std::string text;
    for (const auto& [name, value] : values) {
        if (const auto* const given = std::get_if<std::string>(&value); given != nullptr && is_row_filter(name)) {
            text += (text.empty() ? "--" : " --") + name + " '" + *given + "'";
        }
    }
    return text;
}

std::span<const OptionSpec> selection_options() {
    static const OptionTable<Selection> kTable = make_table(UtcNs{0});
    return kTable.specs();
}

Result<Selection> read_selection(const OptionValues& values, UtcNs now) { return make_table(now).read(values); }

}  // namespace perfleet
