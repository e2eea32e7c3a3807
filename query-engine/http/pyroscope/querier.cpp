#include "query-engine/http/pyroscope/querier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "query-engine/http/pyroscope/messages.h"
#include "query-engine/select/selection.h"
#include "query-engine/statistic/profile/series.h"
#include "query-engine/statistic/stack/call_path.h"
#include "schemas/gzip/gzip.h"
#include "schemas/host/host_clock.h"

namespace perfleet::pyroscope {
namespace {

constexpr std::int64_t kMsPerHour = 3'600'000;
constexpr std::size_t kPprofSizeBytesMax = 256U << 20;
constexpr std::size_t kReadPprofSizeBytesMax = 16U << 20;  // as a message it takes many times its size
constexpr std::size_t kSelectorsMax = 64;                  // of a request; each is several queries
constexpr std::size_t kTypePartsCount = 5;                 // NAME:SAMPLE_TYPE:SAMPLE_UNIT:PERIOD_TYPE:PERIOD_UNIT
constexpr std::int64_t kHeatmapBuckets = 20;               // of values; and slices of time a step, at most

// Members of a request; absent ones have proto3's defaults.
std::string text_in(const Json& request, const char* name) { return request.value(name, std::string{}); }
std::int64_t number_in(const Json& request, const char* name) { return request.value(name, std::int64_t{0}); }
std::vector<std::string> texts_in(const Json& request, const char* name) {
    return request.value(name, std::vector<std::string>{});
}
TimeRange range_in(const Json& request) { return {number_in(request, "start"), number_in(request, "end")}; }

Error invalid(const std::string& what) { return {ErrorCode::kInvalid, what}; }

const std::string& text_at(const std::vector<AnswerValue>& row, std::size_t column) {
    return std::get<std::string>(row[column]);
}
double number_at(const std::vector<AnswerValue>& row, std::size_t column) {
    const auto* const positive = std::get_if<std::uint64_t>(&row[column]);
    return positive != nullptr ? static_cast<double>(*positive)
                               : static_cast<double>(std::get<std::int64_t>(row[column]));
}

Json label_pair(const std::string& name, const std::string& value) { return {{"name", name}, {"value", value}}; }

std::vector<std::string> call_site_in(const Json& request) {
    std::vector<std::string> names;
    const Json selector = request.value("stackTraceSelector", Json::object());
    for (const Json& location : selector.value("callSite", Json::array())) {
        names.push_back(text_in(location, "name"));
    }
    return names;
}

// Whether `by` of the command series can hold the label's name, and has a column for it.
bool can_group_by(const std::string& label) { return !label.empty() && label.find(',') == std::string::npos; }

// The labels by which a request groups.
Result<std::vector<std::string>> grouping_in(const Json& request, const char* name) {
    std::vector<std::string> labels = texts_in(request, name);
    const auto wrong = std::ranges::find_if_not(labels, can_group_by);
    return wrong == labels.end() ? Result<std::vector<std::string>>{std::move(labels)}
                                 : invalid(std::string{name} + ": \"" + wrong->substr(0, 64) +
                                           "\" is empty or has a comma, so it can't be grouped by");
}

// The selectors of a request that takes several, any of which may hold; none: one that takes all.
Result<std::vector<Selector>> selectors_in(const Json& request) {
    const std::vector<std::string> texts = texts_in(request, "matchers");
    if (texts.size() > kSelectorsMax) {
        return invalid("matchers: " + std::to_string(texts.size()) + " selectors are more than " +
                       std::to_string(kSelectorsMax));
    }
    std::vector<Selector> selectors;
    for (const std::string& text : texts) {
        selectors.push_back(PERFLEET_TRY(Selector::read(text)));
    }
    if (selectors.empty()) {
        selectors.emplace_back();
    }
    return selectors;
}

OptionValues session_values(const Selector& selector, OptionValues range) {
    if (!selector.rest.empty()) {
        range["select"] = matchers_text(selector.rest);
    }
    return range;
}

// Points of time at which a series has values: point i stands for the step that ends there.
struct Points {
    std::int64_t start_ms = 0;
    std::int64_t step_ms = 1;
    std::int64_t count = 0;

    [[nodiscard]] OptionValues range() const { return range_of(0, count); }
    // Of some steps, each of which ends at its point.
    [[nodiscard]] OptionValues range_of(std::int64_t index, std::int64_t steps = 1) const {
        const auto time = [](std::int64_t ms) { return format_time(UtcNs{ms * kNsPerMs + 1}); };
        const std::int64_t begin_ms = start_ms + (index - 1) * step_ms;
        return {{"from", time(begin_ms)}, {"until", time(begin_ms + steps * step_ms)}};
    }
    [[nodiscard]] std::int64_t index_of(UtcNs start_of_step) const {
        return (start_of_step.value / kNsPerMs - start_ms) / step_ms + 1;
    }
};

Result<Points> points_in(const Json& request, std::int64_t slices) {
    const TimeRange range = range_in(request);
    PERFLEET_TRY(range.check());
    const double step_s = request.value("step", 0.0);
    if (!(step_s >= 0.001 && step_s < 1e9)) {
        return invalid("step " + std::to_string(step_s) + " isn't a number of seconds from 0.001 on");
    }
    Points points{range.start_ms, std::llround(step_s * 1'000), 0};
    points.count = (range.end_ms - range.start_ms) / points.step_ms + 1;
    if (points.count * slices > SeriesOptions::kStepsMax) {
        return invalid(std::to_string(points.count) + " points are too many: take a longer step");
    }
    return points;
}

struct GroupPoints {
    std::vector<std::string> labels;                           // in the order of the keys
    std::map<std::int64_t, std::pair<double, double>> values;  // amount and samples, by index
    double total = 0;
};

}  // namespace

Result<Json> Querier::call(std::string_view method, const Json& request) const {
    if (method == "ProfileTypes") {
        return list_types(request);
    }
    if (method == "LabelNames") {
        return label_names(request);
    }
    if (method == "LabelValues") {
        return label_values(request);
    }
    if (method == "Series") {
        return series(request);
    }
    if (method == "SelectSeries") {
        return select_series(request);
    }
    if (method == "SelectMergeStacktraces") {
        return merge_stacktraces(request);
    }
    if (method == "SelectMergeSpanProfile") {  // no row has a span
        return Json{{"flamegraph", FlameTree{}.graph(kNodesDefault)}};
    }
    if (method == "SelectMergeProfile") {
        const auto bytes = PERFLEET_TRY(pprof(request, kReadPprofSizeBytesMax));
        return read_protobuf(find_call(method)->response, bytes);
    }
    if (method == "Diff") {
        return diff(request);
    }
    if (method == "SelectHeatmap") {
        return heatmap(request);
    }
    if (method == "GetProfileStats") {
        return stats();
    }
    if (method == "GetFeatureFlags") {
        return Json{{"featureFlags", Json::array()}};
    }
    return Error{ErrorCode::kUnsupported, std::string{method.substr(0, 64)} + " isn't served here"};
}

Result<std::vector<ProfileType>> Querier::types_in(const OptionValues& range) const {
    const auto events = PERFLEET_TRY(ask_table(backend_, "events", range, cancelled_));
    return profile_types(events);
}

Result<Json> Querier::list_types(const Json& request) const {
    TimeRange range = range_in(request);
    if (range.start_ms == 0 && range.end_ms == 0) {
        range.end_ms = utc_now().value / kNsPerMs;
        range.start_ms = range.end_ms - kMsPerHour;
    }
    PERFLEET_TRY(range.check());
    Json types = Json::array();
    for (const ProfileType& type : PERFLEET_TRY(types_in(range.values()))) {
        types.push_back({{"ID", type.id()},
                         {"name", type.name},
                         {"sampleType", type.sample_type},
                         {"sampleUnit", type.sample_unit},
                         {"periodType", type.period_type},
                         {"periodUnit", type.period_unit}});
    }
    return Json{{"profileTypes", std::move(types)}};
}

Result<Json> Querier::label_names(const Json& request) const {
    const TimeRange range = range_in(request);
    PERFLEET_TRY(range.check());
    std::set<std::string> names;
    for (const Selector& selector : PERFLEET_TRY(selectors_in(request))) {
        const auto labels =
            PERFLEET_TRY(ask_table(backend_, "labels", session_values(selector, range.values()), cancelled_));
        for (const std::vector<AnswerValue>& row : labels.rows) {
            names.insert(text_at(row, 0));
        }
    }
    if (!names.empty()) {
        names.insert({kServiceName, kProfileType});
    }
    return Json{{"names", names}};
}

Result<Json> Querier::label_values(const Json& request) const {
    const TimeRange range = range_in(request);
    PERFLEET_TRY(range.check());
    const std::string name = text_in(request, "name");
    if (name.empty()) {
        return invalid("name: the label whose values are wanted is missing");
    }
    std::set<std::string> values;
    if (name == kServiceName || name == kProfileType) {
        Json wanted = request;
        wanted["labelNames"] = {name};
        const Json found = PERFLEET_TRY(series(wanted));
        for (const Json& labels : found["labelsSet"]) {
            values.insert(labels["labels"][0]["value"]);
        }
        return Json{{"names", values}};
    }
    for (const Selector& selector : PERFLEET_TRY(selectors_in(request))) {
        const auto labels =
            PERFLEET_TRY(ask_table(backend_, "labels", session_values(selector, range.values()), cancelled_));
        for (const std::vector<AnswerValue>& row : labels.rows) {
            if (text_at(row, 0) == name) {
                values.insert(text_at(row, 1));
            }
        }
    }
    return Json{{"names", values}};
}

Result<Json> Querier::series(const Json& request) const {
    const TimeRange range = range_in(request);
    PERFLEET_TRY(range.check());
    std::vector<std::string> names = PERFLEET_TRY(grouping_in(request, "labelNames"));
    if (names.empty()) {
        const auto all = PERFLEET_TRY(label_names(request));
        names = all["names"].get<std::vector<std::string>>();
        std::erase_if(names, [](const std::string& name) { return !can_group_by(name); });
    }
    const auto types = PERFLEET_TRY(types_in(range.values()));
    std::set<std::vector<std::pair<std::string, std::string>>> found;
    const bool by_service = std::ranges::find(names, kServiceName) != names.end();
    for (const Selector& selector : PERFLEET_TRY(selectors_in(request))) {
        std::map<std::vector<OptionValues>, std::vector<const ProfileType*>> by_event;
        for (const ProfileType& type : types) {
            if (selector.types.takes(type.id())) {
                std::vector<OptionValues> events = type.selections;
                std::ranges::for_each(events, [](OptionValues& event) { event.erase("measure"); });
                by_event[std::move(events)].push_back(&type);  // types of the same events have the same series
            }
        }
        for (const auto& [events, own_types] : by_event) {
            for (const Part& part : PERFLEET_TRY(services_.parts(selector, range.values(), events, by_service))) {
                OptionValues values = part.values;
                std::string keys;
                std::vector<std::string> shown;
                for (const std::string& name : names) {
                    if (name != kProfileType) {
                        keys += (keys.empty() ? "" : ",") + (name == kServiceName ? part.service_key : name);
                        shown.push_back(name);
                    }
                }
                if (!keys.empty()) {
                    values["by"] = keys;
                }
                const auto groups = PERFLEET_TRY(ask_table(backend_, "series", std::move(values), cancelled_));
                for (const std::vector<AnswerValue>& row : groups.rows) {
                    std::vector<std::pair<std::string, std::string>> labels;
                    for (std::size_t i = 0; i < shown.size(); ++i) {
                        const std::string& value = text_at(row, 1 + i);
                        if (shown[i] == kServiceName || !value.empty()) {
                            labels.emplace_back(shown[i], shown[i] == kServiceName ? Services::shown(value) : value);
                        }
                    }
                    for (const ProfileType* type : own_types) {
                        auto of_type = labels;
                        if (shown.size() != names.size()) {
                            of_type.emplace_back(kProfileType, type->id());
                        }
                        found.insert(std::move(of_type));
                    }
                }
            }
        }
    }
    Json labels_set = Json::array();
    for (const auto& labels : found) {
        Json pairs = Json::array();
        for (const auto& [name, value] : labels) {
            pairs.push_back(label_pair(name, value));
        }
        labels_set.push_back({{"labels", std::move(pairs)}});
    }
    return Json{{"labelsSet", std::move(labels_set)}};
}

// The selections of a request with profile type, label selector and range; none: the type has no profiles there.
Result<std::vector<Part>> Querier::parts_of(const Json& request) const {
    const TimeRange range = range_in(request);
    PERFLEET_TRY(range.check());
    const auto selector = PERFLEET_TRY(Selector::read(text_in(request, "labelSelector")));
    const auto type = find_type(PERFLEET_TRY(types_in(range.values())), text_in(request, "profileTypeID"));
    if (!type.ok()) {
        return type.error().code == ErrorCode::kNotFound ? Result<std::vector<Part>>{std::vector<Part>{}}
                                                         : Result<std::vector<Part>>{type.error()};
    }
    if (!selector.types.takes(type->id())) {
        return std::vector<Part>{};
    }
    return services_.parts(selector, range.values(), type->selections, false);
}

Result<Json> Querier::select_series(const Json& request) const {
    const Points points = PERFLEET_TRY(points_in(request, 1));
    const std::vector<std::string> names = PERFLEET_TRY(grouping_in(request, "groupBy"));
    const std::vector<std::string> call_site = call_site_in(request);
    std::map<std::vector<std::string>, GroupPoints> groups;
    const auto selector = PERFLEET_TRY(Selector::read(text_in(request, "labelSelector")));
    const auto type = find_type(PERFLEET_TRY(types_in(points.range())), text_in(request, "profileTypeID"));
    if (!type.ok() && type.error().code != ErrorCode::kNotFound) {
        return type.error();
    }
    const bool by_service = std::ranges::find(names, kServiceName) != names.end();
    const auto parts = !type.ok() || !selector.types.takes(type->id())
                           ? std::vector<Part>{}
                           : PERFLEET_TRY(services_.parts(selector, points.range(), type->selections, by_service));
    for (const Part& part : parts) {
        OptionValues values = part.values;
        if (!call_site.empty()) {
            if (call_site.front().empty()) {
                continue;  // nothing has no name
            }
            values["below"] = call_path_text(call_site);
        }
        std::string keys;
        for (const std::string& name : names) {
            keys += (keys.empty() ? "" : ",") + (name == kServiceName ? part.service_key : name);
        }
        if (!keys.empty()) {
            values["by"] = keys;
        }
        values["step"] = static_cast<double>(points.step_ms) / 1'000;
        const auto answer = PERFLEET_TRY(ask_table(backend_, "series", std::move(values), cancelled_));
        for (const std::vector<AnswerValue>& row : answer.rows) {
            std::vector<std::string> labels;
            for (std::size_t i = 0; i < names.size(); ++i) {
                labels.push_back(names[i] == kServiceName ? Services::shown(text_at(row, 1 + i)) : text_at(row, 1 + i));
            }
            GroupPoints& group = groups[labels];
            auto& [amount, samples] = group.values[points.index_of(PERFLEET_TRY(parse_time(text_at(row, 0), UtcNs{})))];
            amount += number_at(row, 1 + names.size());
            samples += number_at(row, 2 + names.size());
            group.total += number_at(row, 1 + names.size());
        }
    }
    std::vector<std::pair<const std::vector<std::string>*, const GroupPoints*>> ranked;
    for (const auto& [labels, group] : groups) {
        ranked.emplace_back(&labels, &group);
    }
    std::ranges::stable_sort(ranked, std::greater{}, [](const auto& one) { return one.second->total; });
    if (const std::int64_t limit = number_in(request, "limit");
        limit > 0 && static_cast<std::size_t>(limit) < ranked.size()) {
        ranked.resize(static_cast<std::size_t>(limit));
    }
    const bool is_average = number_in(request, "aggregation") == kAverage;
    Json series = Json::array();
    for (const auto& [labels, group] : ranked) {
        Json pairs = Json::array();
        for (std::size_t i = 0; i < names.size(); ++i) {
            pairs.push_back(label_pair(names[i], (*labels)[i]));
        }
        Json values = Json::array();
        for (const auto& [index, value] : group->values) {
            values.push_back({{"timestamp", points.start_ms + index * points.step_ms},
                              {"value", is_average ? value.first / value.second : value.first}});
        }
        series.push_back({{"labels", std::move(pairs)}, {"points", std::move(values)}});
    }
    return Json{{"series", std::move(series)}};
}

Result<Done> Querier::add_tree(const Json& request, FlameTree& tree, std::size_t side) const {
    for (const Part& part : PERFLEET_TRY(parts_of(request))) {
        tree.add(PERFLEET_TRY(ask_table(backend_, "tree", part.values, cancelled_)), side);
    }
    return Done{};
}

Result<std::string> Querier::pprof(const Json& request) const { return pprof(request, kPprofSizeBytesMax); }

Result<std::string> Querier::pprof(const Json& request, std::size_t size_bytes_max) const {
    const std::vector<std::string> call_site = call_site_in(request);
    if (!call_site.empty() && call_site.front().empty()) {
        return std::string{};  // nothing has no name
    }
    auto parts = PERFLEET_TRY(parts_of(request));
    for (auto part = parts.begin(); parts.size() > 1 && part != parts.end();) {
        const auto rows = PERFLEET_TRY(ask_table(backend_, "series", part->values, cancelled_));
        part = rows.rows.empty() ? parts.erase(part) : std::next(part);
    }
    if (parts.size() > 1) {
        return Error{ErrorCode::kUnsupported,
                     "the selection is of several kinds of sessions (recorded and imported ones, or with and without a "
                     "label service_name), which aren't one profile: select one kind by another label"};
    }
    if (parts.empty()) {
        return std::string{};
    }
    OptionValues values = parts.front().values;
    values["format"] = std::string{"pprof"};
    if (!call_site.empty()) {
        values["below"] = call_path_text(call_site);
    }
    const auto packed = ask_bytes(backend_, {"export", std::move(values)}, size_bytes_max, cancelled_);
    if (!packed.ok()) {
        return packed.error().code == ErrorCode::kNotFound ? Result<std::string>{std::string{}}
                                                           : Result<std::string>{packed.error()};
    }
    return gunzip(*packed, size_bytes_max);
}

namespace {

Result<std::int64_t> nodes_in(const Json& request) {
    const std::int64_t nodes = number_in(request, "maxNodes");
    if (nodes < 0 || nodes > Querier::kNodesMax) {
        return invalid("max_nodes " + std::to_string(nodes) + " isn't from 0 to " + std::to_string(Querier::kNodesMax));
    }
    return nodes == 0 ? Querier::kNodesDefault : nodes;
}

}  // namespace

Result<Json> Querier::merge_stacktraces(const Json& request) const {
    const std::int64_t nodes = PERFLEET_TRY(nodes_in(request));
    const std::int64_t format = number_in(request, "format");
    if (format == kPprof) {
        const auto bytes = PERFLEET_TRY(pprof(request, kReadPprofSizeBytesMax));
        auto profile = PERFLEET_TRY(read_protobuf(find_call("SelectMergeProfile")->response, bytes));
        return Json{{"pprof", {{"profile", std::move(profile)}}}};
    }
    FlameTree tree;
    const bool has_spans = !texts_in(request, "spanSelector").empty() ||
                           !texts_in(request, "traceIdSelector").empty() ||
                           !texts_in(request, "profileIdSelector").empty();
    if (!has_spans) {  // else empty: no row has a span, and there are no single profiles
        PERFLEET_TRY(add_tree(request, tree, 0));
        tree.keep_below(call_site_in(request));
    }
    if (format == kDot) {
        std::vector<std::string> type = split_list(text_in(request, "profileTypeID"), ':');
        type.resize(kTypePartsCount);  // it isn't checked where spans are asked for
        const std::int64_t functions = number_in(request, "maxNodes") == 0 ? kDotNodesDefault : nodes;
        return Json{{"dot", tree.dot(functions, type[1], type[2])}};
    }
    return format == kTree ? Json{{"tree", tree.tree(nodes)}} : Json{{"flamegraph", tree.graph(nodes)}};
}

Result<Json> Querier::diff(const Json& request) const {
    const Json left = request.value("left", Json::object());
    const Json right = request.value("right", Json::object());
    const std::int64_t nodes = std::max(PERFLEET_TRY(nodes_in(left)), PERFLEET_TRY(nodes_in(right)));
    FlameTree tree;
    PERFLEET_TRY(add_tree(left, tree, 0));
    PERFLEET_TRY(add_tree(right, tree, 1));
    tree.keep_below(call_site_in(left));
    return Json{{"flamegraph", tree.diff(nodes)}};
}

Result<Json> Querier::heatmap(const Json& request) const {
    const Points points = PERFLEET_TRY(points_in(request, 1));
    const std::int64_t slices =
        std::clamp<std::int64_t>(SeriesOptions::kStepsMax / points.count, 1, std::min(kHeatmapBuckets, points.step_ms));
    Json wanted = request;
    const std::int64_t slice_ms = (points.step_ms + slices - 1) / slices;  // rounded up: no more slices than may be
    wanted["step"] = static_cast<double>(slice_ms) / 1'000;
    wanted["start"] = points.start_ms;
    const auto fine = PERFLEET_TRY(select_series(wanted));
    Json series = Json::array();
    for (const Json& group : fine["series"]) {
        double least = std::numeric_limits<double>::infinity();
        double most = -least;
        for (const Json& point : group["points"]) {
            least = std::min(least, point["value"].get<double>());
            most = std::max(most, point["value"].get<double>());
        }
        const double width = most > least ? (most - least) / kHeatmapBuckets : 1;
        std::map<std::int64_t, std::vector<std::int32_t>> slots;
        for (const Json& point : group["points"]) {
            const std::int64_t after_ms = point["timestamp"].get<std::int64_t>() - points.start_ms;
            const std::int64_t index = (after_ms + points.step_ms - 1) / points.step_ms;
            auto& counts = slots.try_emplace(index, kHeatmapBuckets, 0).first->second;
            const auto bucket = static_cast<std::int64_t>((point["value"].get<double>() - least) / width);
            ++counts[static_cast<std::size_t>(std::min(bucket, kHeatmapBuckets - 1))];
        }
        std::vector<double> bounds;
        for (std::int64_t i = 0; i < kHeatmapBuckets; ++i) {
            bounds.push_back(least + width * static_cast<double>(i));
        }
        Json shown = Json::array();
        for (const auto& [index, counts] : slots) {
            shown.push_back(
                {{"timestamp", points.start_ms + index * points.step_ms}, {"yMin", bounds}, {"counts", counts}});
        }
        series.push_back({{"labels", group["labels"]}, {"slots", std::move(shown)}});
    }
    return Json{{"series", std::move(series)}};
}

Result<Json> Querier::stats() const {
    const auto targets = PERFLEET_TRY(ask_table(backend_, "targets", {}, cancelled_));
    constexpr std::size_t kFirst = 5;
    constexpr std::size_t kLast = 6;
    std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
    std::int64_t newest = 0;
    for (const std::vector<AnswerValue>& row : targets.rows) {
        oldest = std::min(oldest, PERFLEET_TRY(parse_time(text_at(row, kFirst), UtcNs{})).value / kNsPerMs);
        newest = std::max(newest, PERFLEET_TRY(parse_time(text_at(row, kLast), UtcNs{})).value / kNsPerMs);
    }
    return targets.rows.empty()
               ? Json{{"dataIngested", false}}
               : Json{{"dataIngested", true}, {"oldestProfileTime", oldest}, {"newestProfileTime", newest}};
}

}  // namespace perfleet::pyroscope
