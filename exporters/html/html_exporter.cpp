#include "exporters/html/html_exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "exporters/html/flame_figure.h"
#include "exporters/html/flame_graph.h"
#include "exporters/html/page_data.h"
#include "exporters/html/slowest_sides.h"
#include "exporters/report/amount_text.h"
#include "query-engine/statistic/diff/diff.h"
#include "query-engine/statistic/diff/diff_command.h"
#include "query-engine/statistic/profile/slowest.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/source_expansion.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "schemas/session/command_text.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

constexpr std::size_t kSessionsShownMax = 100;  // in the page, by name
constexpr std::size_t kTargetsInTitleMax = 3;

// Slices of a minute or more start at a whole minute.
TimeSlices slices_of(const Scan& scan, const std::string& event, std::uint64_t count_max) {
    TimeSlices slices;
    const auto range = event_time_range(scan, event);
    if (!range) {
        return slices;
    }
    slices.start_ns = range->first.value;
    const std::int64_t duration_ns = range->second.value - range->first.value + 1;
    const auto count = static_cast<std::int64_t>(std::max<std::uint64_t>(count_max, 1));
    slices.width_ns = (duration_ns + count - 1) / count;
    if (count > 1 && slices.width_ns >= kNsPerMinute) {
        slices.start_ns -= ((slices.start_ns % kNsPerMinute) + kNsPerMinute) % kNsPerMinute;
        const std::int64_t aligned_ns = range->second.value - slices.start_ns + 1;
        const std::int64_t minutes = (aligned_ns + count * kNsPerMinute - 1) / (count * kNsPerMinute);
        slices.width_ns = minutes * kNsPerMinute;
    }
    slices.count = static_cast<std::uint32_t>((range->second.value - slices.start_ns) / slices.width_ns + 1);
    return slices;
}

void merge(TimeSlices& slices, std::uint32_t merged) {
    for (; merged > 1; merged /= 2) {
        slices.count = (slices.count + 1) / 2;
        slices.width_ns *= 2;
    }
}

PageSide side_of(const Scan& scan, const std::string& event) {
    PageSide side;
    for (const ScannedSession& session : scan.sessions()) {
        if (event_series(session, event).empty()) {
            continue;
        }
        if (side.sessions.size() < kSessionsShownMax) {
            side.sessions.push_back({session_hex(session.record.session), session.note.given_name,
                                     session.record.target_name, session.record.architecture,
                                     command_text(session.record.host)});
        }
        ++side.session_count;
    }
    return side;
}

Result<Done> count(const Scan& scan, const Measure& measure, const TimeSlices& slices, std::uint32_t first_slice,
                   SourceExpansion& expansion, FlameGraphMaker& maker) {
    StackCountOptions wanted;
    if (slices.count > 1) {
        wanted.cuts = [&](std::size_t session_index) {
            std::vector<Ticks> cuts;
            for (std::uint32_t i = 1; i < slices.count; ++i) {
                cuts.push_back(
                    scan.sessions()[session_index].clock.ticks_of(UtcNs{slices.start_ns + i * slices.width_ns}));
            }
            return cuts;
        };
    }
    return expansion.visit(scan, measure, wanted,
                           [&](const EpochStackCounts& epoch) { maker.add(measure, epoch, first_slice); });
}

std::string title_of(const PageData& data) {
    std::set<std::string> targets;
    for (const PageSession& session : data.side.sessions) {
        targets.insert(session.target);
    }
    std::string title = data.event + " on ";
    std::size_t count = 0;
    for (const std::string& target : targets) {
        if (++count <= kTargetsInTitleMax) {
            title += (count == 1 ? "" : ", ") + target;
        }
    }
    return count > kTargetsInTitleMax ? title + " and " + std::to_string(count - kTargetsInTitleMax) + " more" : title;
}

// Adds the comparison's verdict on each function of the graph, and its warnings.
void add_verdicts(Answer answer, PageData& data) {
    const auto column = [&](const char* name) {
        const auto found = std::find_if(answer.columns.begin(), answer.columns.end(),
                                        [&](const AnswerColumn& one) { return one.name == name; });
        return static_cast<std::size_t>(found - answer.columns.begin());
    };
    const std::size_t symbol = column("symbol");
    const std::size_t image = column("image");
    const std::size_t figure = column("figure");
    const std::size_t verdict = column("verdict");
    std::map<std::pair<std::string, std::string>, std::uint32_t> functions;
    for (std::uint32_t i = 0; i < data.graph.functions.size(); ++i) {
        functions.try_emplace({data.graph.functions[i].name, data.graph.functions[i].image}, i);
    }
    const auto text = [](const AnswerValue& value) {
        const auto* const held = std::get_if<std::string>(&value);
        return held == nullptr ? std::string{} : *held;
    };
    for (const std::vector<AnswerValue>& row : answer.rows) {
        const auto function = functions.find({printable(text(row[symbol])), printable(text(row[image]))});
        if (function == functions.end()) {
            continue;
        }
        const std::string said = text(row[verdict]);
        const int change = said.starts_with("more") ? 1 : said.starts_with("less") ? -1 : 0;
        data.verdicts.push_back({function->second, text(row[figure]) == "self", change, said});
    }
    std::sort(data.verdicts.begin(), data.verdicts.end(), [](const PageVerdict& a, const PageVerdict& b) {
        return std::pair{a.function, a.is_self} < std::pair{b.function, b.is_self};
    });
    for (std::string& warning : answer.warnings) {
        data.warnings.push_back(std::move(warning));
    }
}

// Approximate memory of the page while it is written: its JSON, plain and escaped.
std::size_t page_size_bytes(const FlameGraph& graph) {
    constexpr std::size_t kCopies = 3;
    constexpr std::size_t kFrameSizeBytes = 10;
    constexpr std::size_t kCellSizeBytes = 12;
    std::size_t size_bytes = graph.frames.size() * kFrameSizeBytes + graph.cells.size() * kCellSizeBytes;
    for (const FlameFunction& function : graph.functions) {
        size_bytes += function.name.size() + function.image.size() + sizeof(FlameFunction);
    }
    return kCopies * size_bytes;
}

void warn_of_graph(const FlameGraph& graph, std::vector<std::string>& warnings) {
    if (graph.frames_cut != 0) {
        warnings.push_back(counted_noun(graph.frames_cut, "frame") + " of few samples shown as " + kCutName +
                           ": a page has " + std::to_string(kFlameFramesMax) +
                           " frames (--comm, --image, --symbol, --from and --until select fewer)");
    }
    if (graph.slices_merged > 1) {
        warnings.push_back("slices of time are " + std::to_string(graph.slices_merged) +
                           " times as long as usual: a page has " + std::to_string(kFlameCellsMax) +
                           " numbers of samples (--from and --until select a shorter time)");
    }
    if (graph.depth_max <= 1) {
        warnings.emplace_back("no call chains were recorded: record with -g to see callers");
    }
}

Result<std::string> bytes_of(const PageData& data, const std::string& format) {
    return format == "svg"   ? Result<std::string>{svg_of(flame_figure(data))}
           : format == "png" ? png_of(flame_figure(data))
                             : Result<std::string>{format == "json" ? page_json(data) : html_page(data)};
}

// Writes a page without frames, with a warning that says so.
Result<QueryEnd> write_empty_page(const Scan& scan, PageData data, const std::string& warning,
                                  const std::string& format, ExportSink& sink) {
    Ledger ledger;
    for (std::size_t index = 0; index < scan.sessions().size(); ++index) {
        ledger.add(scan.ledger(index, kKindsWithCallChains, data.warnings));
    }
    data.title = data.title.empty() ? "No samples" : data.title;
    data.graph = {};
    data.has_before = false;
    data.warnings.insert(data.warnings.begin(), warning);
    data.ledgers.emplace_back("rows", ledger);
    drop_repeated(data.warnings);
    const auto page = PERFLEET_TRY(bytes_of(data, format));
    PERFLEET_TRY(sink.write_at(0, std::as_bytes(std::span{page})));
    return QueryEnd{std::nullopt, "a page without frames", std::move(ledger), std::move(data.warnings)};
}

Result<std::optional<Measure>> choose_page_measure(const Scan& scan, const HtmlOptions& options) {
    if (!options.slowest.is_given()) {
        return choose_measure(scan);
    }
    return std::optional{PERFLEET_TRY(choose_operation_measure(scan, options.slowest))};
}

}  // namespace

Result<Selection> before_selection(const std::string& text, const Selection& selected, UtcNs now) {
    Selection common = selected;
    common.matchers.clear();
    common.session.clear();
    common.from.reset();
    common.to.reset();
    auto side = PERFLEET_TRY(parse_diff_side("before", text, common, now));
    if (side.matchers.empty() && side.session.empty()) {
        side.matchers = selected.matchers;
        side.session = selected.session;
    }
    if (!side.from && !side.to) {
        side.from = selected.from;
        side.to = selected.to;
    }
    return side;
}

Result<QueryEnd> export_html(const Scan& scan, const Scan* before, Symbolizer& symbolizer, const HtmlOptions& options,
                             ExportSink& sink) {
    const bool is_slowest = options.slowest.is_given();
    const auto chosen = PERFLEET_TRY(choose_page_measure(scan, options));
    if (!chosen.has_value()) {
        PageData none;
        none.title = options.title;
        none.unit = kRowUnit;
        return write_empty_page(scan, std::move(none), "nothing to show: " + no_samples_text(scan), options.format,
                                sink);
    }
    const Measure& measure = *chosen;
    PageData data;
    data.event = measure.event;
    data.unit = measure.unit;
    data.side = side_of(scan, measure.event);
    data.side.slices = slices_of(scan, measure.event, options.slice_count);
    data.title = options.title.empty() ? title_of(data) : options.title;
    if (is_slowest && options.title.empty()) {
        data.title =
            fmt::format("Slowest {:g} % of {}: {}", static_cast<double>(100 * options.slowest.slowest->fraction()),
                        fmt::join(options.slowest.of, " to "), data.title);
    }
    SourceExpansion expansion{symbolizer, scan.memory(), {.has_inlines = options.has_inlines}};
    FlameGraphMaker maker{symbolizer, scan.memory(), scan.worker_count(),
                          // As `diff` names them, so that its verdicts match the frames.
                          before != nullptr && !options.each_address ? FrameNames::Wanted::kComparable
                                                                     : FrameNames::wanted(options.each_address)};
    std::uint32_t second_side = data.side.slices.count;
    if (is_slowest) {
        data.has_before = true;
        data.before = data.side;
        data.before_name = "in other operations";
        PERFLEET_TRY(count_slowest(scan, measure, options, data.side.slices, expansion, maker));
    } else {
        PERFLEET_TRY(count(scan, measure, data.side.slices, 0, expansion, maker));
    }
    if (before != nullptr) {
        data.has_before = true;
        data.before = side_of(*before, measure.event);
        data.before.slices = slices_of(*before, measure.event, options.slice_count);
        if (Result<Done> counted = count(*before, measure, data.before.slices, second_side, expansion, maker);
            !counted.ok()) {
            return std::move(counted).error();
        }
    }
    if (scan.memory().is_exceeded()) {
        return scan.memory().exceeded();
    }
    data.graph = maker.make(second_side);
    MemoryShare share{scan.memory()};
    share.set(page_size_bytes(data.graph));
    if (scan.memory().is_exceeded()) {
        return scan.memory().exceeded();
    }
    merge(data.side.slices, data.graph.slices_merged);
    merge(data.before.slices, data.graph.slices_merged);
    if (data.graph.total == 0) {
        return write_empty_page(scan, std::move(data),
                                "no sample of event " + measure.event +
                                    " lies in the selection: nothing to show (perfleet sessions says when there were "
                                    "some)",
                                options.format, sink);
    }
    data.is_sampled = is_sampled(measure, maker.total());
    data.is_independent = maker.total().has_sample_numbers;
    data.weight_of_one = maker.total().amount_of_effective_row();
    maker.amounts().warn_of_negative(data.unit, data.warnings);
    maker.amounts().warn_of_rounding(data.unit, data.warnings);
    warn_of_graph(data.graph, data.warnings);
    if (!data.has_before) {  // else the comparison adds it
        maker.names().add_hint(options.each_address ? FrameNames::HintAt::kNoAddresses : FrameNames::HintAt::kAddresses,
                               data.warnings);
    }
    Ledger ledger;
    finish_profile(scan, measure, maker.total(), symbolizer, ledger, data.warnings);
    data.ledgers.emplace_back("rows", ledger);
    if (before != nullptr) {
        DiffOptions judging;
        judging.subject = DiffSubject::kProfile;
        judging.within_run = options.is_within_run;
        add_verdicts(PERFLEET_TRY(make_diff(*before, scan, symbolizer, judging)), data);
        Ledger ledger_before = event_ledger(*before, measure.event, data.warnings);
        data.ledgers.front().first = "after";
        data.ledgers.insert(data.ledgers.begin(), {"before", ledger_before});
        ledger.add(ledger_before);
    }
    if (is_slowest) {
        const SlowestProfileOptions judging{options.slowest, options.each_address, std::nullopt};
        add_verdicts(PERFLEET_TRY(make_slowest(scan, symbolizer, judging)), data);
    }
    const RowFilter& filter = scan.selection().filter;
    if (filter.has_rows() || filter.has_frames()) {
        data.warnings.emplace_back(
            "counts are of the rows that pass the filters; the ledger is of all of the selection");
    }
    drop_repeated(data.warnings);
    const auto page = PERFLEET_TRY(bytes_of(data, options.format));
    PERFLEET_TRY(sink.write_at(0, std::as_bytes(std::span{page})));
    return QueryEnd{std::nullopt,
                    counted_noun(data.graph.frames.size(), "frame") + ", " +
                        amount_text(static_cast<double>(data.graph.total), data.unit),
                    std::move(ledger), std::move(data.warnings)};
}

}  // namespace perfleet
