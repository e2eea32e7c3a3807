#include "target-collector/intake/push/pyroscope_profiles.h"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>
#include <utility>

#include "schemas/gzip/gzip.h"
#include "schemas/pprof/checked_message.h"
#include "schemas/text/parse.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/intake/session/event_of_amounts.h"

namespace perfleet {
namespace {

constexpr std::size_t kUnpackedSizeBytesMax = 64U << 20;  // of one profile
constexpr const char* kServiceName = "service_name";
constexpr const char* kProfileName = "__name__";

enum class PushRequest : protozero::pbf_tag_type { kSeries = 1 };
enum class Series : protozero::pbf_tag_type { kLabels = 1, kSamples = 2 };
enum class LabelPair : protozero::pbf_tag_type { kName = 1, kValue = 2 };
enum class RawSample : protozero::pbf_tag_type { kProfile = 1 };

using Labels = std::map<std::string, std::string>;

std::string short_text(std::string_view text) { return printable(text).substr(0, limits::kLabelSizeBytesMax); }

// A profile without types and samples: its target and process. Takes names of its own off the labels.
PushedProfile described(Labels labels, const std::string& client) {
    PushedProfile profile;
    profile.target = client;
    for (const char* key : {"hostname", "host", "instance", "pod", "node"}) {
        if (const auto known = labels.find(key); known != labels.end() && !known->second.empty()) {
            profile.target = known->second;
            break;
        }
    }
    const std::string& service = labels[kServiceName];
    profile.command = service;
    profile.target = profile.target.empty() ? service : profile.target;
    profile.producer = labels.contains("pyroscope_spy") ? labels["pyroscope_spy"] : "pyroscope";
    std::erase_if(labels, [](const auto& label) { return label.first.starts_with("__") || label.second.empty(); });
    while (labels.size() > push_limits::kLabelsMax) {
        const auto last = std::prev(labels.end());
        labels.erase(last->first == kServiceName ? std::prev(last) : last);
    }
    profile.labels = std::move(labels);
    return profile;
}

// Profiles of locks and of blocking have types of the same names: those of the first part of their `__name__` differ.
std::string event_name(std::string_view type, std::string_view profile_name) {
    const std::string name = type.empty() ? "samples" : printable(type);
    return profile_name == "mutex" || profile_name == "block" ? std::string{profile_name} + "_" + name : name;
}

Result<Done> take_pprof(std::string_view bytes, std::string_view profile_name, PushedProfile& into, UtcNs now,
                        std::uint64_t& row_count) {
    std::string unpacked;
    if (bytes.starts_with("\x1f\x8b")) {
        unpacked = PERFLEET_TRY(gunzip(bytes, kUnpackedSizeBytesMax));
        bytes = unpacked;
    }
    if (bytes.empty() || is_legacy_profile(bytes) || !may_be_profile(bytes)) {
        return Error{ErrorCode::kInvalid, "no profile of pprof's protobuf"};
    }
    const auto profile =
        std::make_shared<PprofProfile>(PERFLEET_TRY(PprofProfile::read(std::as_bytes(std::span{bytes}))));
    if (profile->value_types.empty() || profile->value_types.size() > push_limits::kTypesMax) {
        return Error{ErrorCode::kInvalid, "a profile of pprof with " + std::to_string(profile->value_types.size()) +
                                              " types of values; 1 to " + std::to_string(push_limits::kTypesMax) +
                                              " are taken"};
    }
    row_count += profile->samples.size() * profile->value_types.size();
    if (row_count > push_limits::kRowsMax) {
        return Error{ErrorCode::kTooLarge,
                     "more than " + std::to_string(push_limits::kRowsMax) + " values: send fewer at once"};
    }
    const std::vector<std::size_t> types = profile_events(*profile);
    for (const std::size_t type : types) {
        const PprofProfile::ValueType& one = profile->value_types[type];
        PushedType event{event_name(one.type, profile_name), unit_of_pprof(one.unit)};
        if (std::ranges::find(into.types, event.name, &PushedType::name) != into.types.end()) {
            return Error{ErrorCode::kInvalid, "two types of values are named " + event.name};
        }
        into.types.push_back(std::move(event));
    }
    const std::int64_t time_ns = profile->time_ns > 0 ? profile->time_ns
                                 : into.first_ns > 0  ? into.first_ns
                                                      : now.value;
    into.first_ns = time_ns;
    into.last_ns =
        std::max(into.last_ns, time_ns + std::clamp<std::int64_t>(profile->duration_ns, 0, 3'600 * kNsPerSecond));
    for (const PprofProfile::Sample& sample : profile->samples) {
        PushedSample& made = into.samples.emplace_back();
        made.locations = sample.locations;
        made.time_ns = time_ns;
        for (const std::size_t type : types) {
            made.values.push_back(sample.values[type]);
        }
        for (const SampleLabel& label : sample.labels) {
            if (label.key == kCommLabel || (label.key == "thread" && !label.text.empty())) {
                made.thread_name = label.text;
            } else if (label.key == "tid" || label.key == "thread_id") {
                made.tid = static_cast<std::uint32_t>(std::clamp<std::int64_t>(label.number, 0, 1 << 30));
            } else {
                made.labels.push_back(label);
            }
        }
    }
    into.tables = profile;
    return Done{};
}

// Makes tables from the names in folded stacks.
class FoldedStacks {
public:
    // Outermost first, as `main;work;inner`.
    std::span<const std::uint32_t> stack(std::string_view text) {
        std::vector<std::uint32_t>& made = kept_->stacks.emplace_back();
        while (!text.empty()) {
            made.push_back(location(take_part(text, ';')));
        }
        std::ranges::reverse(made);
        return made;
    }
    void move_to(PushedProfile& profile) {
        profile.tables = tables_;
        profile.keep = kept_;
    }
    std::string_view keep(std::string body) { return kept_->body = std::move(body); }

private:
    struct Kept {
        std::string body;
        std::deque<std::vector<std::uint32_t>> stacks;
    };

    std::uint32_t location(std::string_view name) {
        const auto [known, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(tables_->locations.size()));
        if (is_new) {
            tables_->functions.push_back({.name = name, .system_name = {}, .file_name = {}});
            tables_->locations.emplace_back().lines = {{.function = known->second}};
        }
        return known->second;
    }

    std::shared_ptr<PprofProfile> tables_ = std::make_shared<PprofProfile>();
    std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
    std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

// The events of folded stacks, and what one unit is of each.
struct FoldedUnits {
    std::vector<PushedType> types;
    std::vector<std::int64_t> factors;
};

FoldedUnits units_of(const IngestedProfile& profile, std::string_view suffix) {
    if (profile.units == "samples") {
        return {{{"cpu", "ns"}, {"samples", "count"}},
                {kNsPerSecond / static_cast<std::int64_t>(profile.sample_rate), 1}};
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kUnits{{{"objects", "count"},
                                                                                   {"goroutines", "count"},
                                                                                   {"lock_samples", "count"},
                                                                                   {"lock_nanoseconds", "ns"},
                                                                                   {"bytes", "bytes"}}};
    const auto known = std::ranges::find(kUnits, profile.units, [](const auto& unit) { return unit.first; });
    const std::string unit{known == kUnits.end() ? unit_of_pprof(profile.units) : std::string{known->second}};
    return {{{std::string{suffix.empty() ? std::string_view{profile.units} : suffix}, unit}}, {1}};
}

Result<Done> take_folded(IngestedProfile& profile, std::string_view suffix, bool has_counts, PushedProfile& into,
                         UtcNs now) {
    const FoldedUnits units = units_of(profile, suffix);
    FoldedStacks stacks;
    std::string_view rest = stacks.keep(std::move(profile.body));
    into.types = units.types;
    into.first_ns = into.first_ns > 0 ? into.first_ns : now.value;
    into.last_ns = std::max(into.first_ns, into.last_ns);
    for (std::size_t number = 1; !rest.empty(); ++number) {
        std::string_view line = take_part(rest, '\n');
        line = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
        if (line.empty()) {
            continue;
        }
        std::int64_t count = 1;
        if (has_counts) {
            const std::size_t space = line.rfind(' ');
            const auto told =
                space == std::string_view::npos ? std::nullopt : number_of<std::int64_t>(line.substr(space + 1));
            if (!told || *told < 0) {
                return Error{ErrorCode::kInvalid, "line " + std::to_string(number) +
                                                      " doesn't end with a count: a line is `outer;inner COUNT`"};
            }
            count = *told;
            line = line.substr(0, space);
        }
        if (into.samples.size() * units.types.size() >= push_limits::kRowsMax) {
            return Error{ErrorCode::kTooLarge,
                         "it has more than " + std::to_string(push_limits::kRowsMax) + " values: send fewer at once"};
        }
        PushedSample& sample = into.samples.emplace_back();
        sample.locations = stacks.stack(line);
        sample.time_ns = into.first_ns;
        for (const std::int64_t factor : units.factors) {
            std::int64_t amount = 0;
            if (__builtin_mul_overflow(count, factor, &amount)) {
                return Error{ErrorCode::kInvalid, "line " + std::to_string(number) + ": the count is too large"};
            }
            sample.values.push_back(amount);
        }
    }
    stacks.move_to(into);
    return Done{};
}

// `app.cpu{key=value,other=value}`.
Result<std::pair<std::string, Labels>> read_name(std::string_view text) {
    const std::size_t brace = std::min(text.find('{'), text.size());
    const std::string name = short_text(text.substr(0, brace));
    std::string_view rest = text.substr(brace);
    if (name.empty() || (!rest.empty() && !rest.ends_with('}'))) {
        return Error{ErrorCode::kInvalid,
                     "name: \"" + printable(text.substr(0, 256)) + "\" isn't `APPLICATION{KEY=VALUE,…}`"};
    }
    rest = rest.empty() ? rest : rest.substr(1, rest.size() - 2);
    Labels labels;
    while (!rest.empty()) {
        std::string_view pair = take_part(rest, ',');
        const std::string_view key = take_part(pair, '=');
        if (key.empty()) {
            return Error{ErrorCode::kInvalid, "name: a label without a key"};
        }
        labels[label_key(key)] = short_text(pair);
    }
    return std::pair{name, std::move(labels)};
}

Result<Done> take_series(std::string_view message, const std::string& client, UtcNs now, std::uint64_t& row_count,
                         PushedRequest& request) {
    Labels labels;
    std::vector<std::string_view> raw;
    CheckedMessage<Series> series{message};
    while (series.next()) {
        if (series.tag() == Series::kLabels) {
            std::string key;
            std::string value;
            CheckedMessage<LabelPair> pair{series.get_text()};
            while (pair.next()) {
                switch (pair.tag()) {
                    case LabelPair::kName: key = label_key(pair.get_text()); break;
                    case LabelPair::kValue: value = short_text(pair.get_text()); break;
                    default: pair.skip();
                }
            }
            labels[key] = value;
        } else if (series.tag() == Series::kSamples) {
            CheckedMessage<RawSample> sample{series.get_text()};
            while (sample.next(RawSample::kProfile)) {
                raw.push_back(sample.get_text());
            }
        } else {
            series.skip();
        }
    }
    const std::string profile_name = labels[kProfileName];
    if (profile_name.empty() || labels[kServiceName].empty()) {
        return Error{ErrorCode::kInvalid, "a series needs the labels __name__ and service_name"};
    }
    const PushedProfile whose = described(std::move(labels), client);
    for (const std::string_view bytes : raw) {
        PushedProfile profile = whose;
        PERFLEET_TRY(take_pprof(bytes, profile_name, profile, now, row_count));
        if (request.profiles.size() == push_limits::kProfilesMax) {
            return Error{ErrorCode::kTooLarge, "more than " + std::to_string(push_limits::kProfilesMax) + " profiles"};
        }
        request.profiles.push_back(std::move(profile));
    }
    return Done{};
}

// Seconds, milliseconds, microseconds or nanoseconds since 1970, by the number of digits.
Result<std::int64_t> time_of(const std::string& name, std::string_view text) {
    auto number = number_of<std::int64_t>(text);
    constexpr std::size_t kDigitsOfSeconds = 10;
    constexpr std::size_t kDigitsOfNs = 19;
    if (!number || *number < 0 || text.size() > kDigitsOfNs) {
        return Error{ErrorCode::kInvalid, name + ": " + printable(text.substr(0, 64)) + " isn't a time since 1970"};
    }
    for (std::size_t digits = std::max(text.size(), kDigitsOfSeconds); digits < kDigitsOfNs; ++digits) {
        *number *= 10;
    }
    return *number;
}

}  // namespace

Result<IngestedProfile> ingested_profile(const std::vector<std::pair<std::string, std::string>>& parameters,
                                         std::string body) {
    IngestedProfile profile;
    profile.body = std::move(body);
    for (const auto& [name, value] : parameters) {
        if (name == "name") {
            profile.name = value;
        } else if (name == "format") {
            profile.format = value;
        } else if (name == "units") {
            profile.units = value;
        } else if (name == "from") {
            profile.from_ns = PERFLEET_TRY(time_of(name, value));
        } else if (name == "until") {
            profile.until_ns = PERFLEET_TRY(time_of(name, value));
        } else if (name == "sampleRate") {
            const auto rate = number_of<std::uint64_t>(value);
            if (!rate || *rate == 0 || *rate > static_cast<std::uint64_t>(kNsPerSecond)) {
                return Error{ErrorCode::kInvalid, "sampleRate: " + printable(value.substr(0, 64)) +
                                                      " isn't a frequency from 1 to 1,000,000,000 Hz"};
            }
            profile.sample_rate = *rate;
        }  // spyName, aggregationType and others add nothing
    }
    return profile;
}

Result<PushedRequest> read_pyroscope_push(std::string body, const std::string& client, UtcNs now) {
    PushedRequest request;
    std::uint64_t row_count = 0;
    try {
        CheckedMessage<PushRequest> field{std::string_view{body}};
        while (field.next(PushRequest::kSeries)) {
            PERFLEET_TRY(take_series(field.get_text(), client, now, row_count, request));
        }
    } catch (const protozero::exception& exception) {
        return Error{ErrorCode::kInvalid, std::string{"no push.v1.PushRequest ("} + exception.what() + ")"};
    }
    return request;
}

Result<PushedRequest> read_pyroscope_ingest(IngestedProfile ingested, const std::string& client, UtcNs now) {
    auto [name, labels] = PERFLEET_TRY(read_name(ingested.name));
    // The last part of the name says what is counted: `app.cpu`, `app.alloc_space`.
    const std::size_t dot = name.rfind('.');
    const std::string suffix = dot == std::string::npos ? "" : name.substr(dot + 1);
    if (!labels.contains(kServiceName)) {
        labels[kServiceName] = name.substr(0, dot);
    }
    PushedRequest request;
    PushedProfile profile = described(std::move(labels), client);
    profile.first_ns = ingested.from_ns;
    profile.last_ns = ingested.until_ns;
    if (ingested.format == "pprof") {
        std::uint64_t row_count = 0;
        PERFLEET_TRY(take_pprof(ingested.body, suffix, profile, now, row_count));
    } else if (ingested.format == "folded" || ingested.format == "lines" || ingested.format.empty()) {
        PERFLEET_TRY(take_folded(ingested, suffix, ingested.format != "lines", profile, now));
    } else {
        return Error{ErrorCode::kUnsupported, "format " + printable(ingested.format.substr(0, 64)) +
                                                  " isn't taken here: send pprof, folded or lines"};
    }
    request.profiles.push_back(std::move(profile));
    return request;
}

}  // namespace perfleet
