#include "target-collector/intake/push/otlp_profiles.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <set>
#include <utility>

#include "schemas/otlp/otlp_message.h"
#include "schemas/pprof/checked_message.h"
#include "schemas/text/hex.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/intake/session/event_of_amounts.h"

namespace perfleet {
namespace {

using protozero::pbf_wire_type;

constexpr std::string_view kKernelMapping = "[kernel.kallsyms]";

struct Rejected {
    std::string why;
};

struct Value {
    std::string_view text;
    std::int64_t number = 0;
    bool is_number = false;
};

struct Attribute {
    std::string_view key;
    Value value;
    std::string_view unit;
};

struct Link {
    std::string_view trace_id;
    std::string_view span_id;
};

// Data that profiles borrow.
struct Kept {
    std::string body;
    std::deque<std::string> texts;  // that aren't in the body
    std::vector<std::vector<std::uint32_t>> stacks;
};

enum class Layout : std::uint8_t { k1_10, k1_9, kUnclear, kMixed };

class OtlpReader {
public:
    OtlpReader(std::string body, const std::string& client, UtcNs now)
        : client_{client}, now_ns_{now.value}, kept_{std::make_shared<Kept>()} {
        kept_->body = std::move(body);
    }

    PushedRequest run() {
        each_of(kept_->body, otlp::Request::kDictionary, [this](auto& field) { read_dictionary(field.get_text()); });
        tables_ready_ = tables_;
        each_profile([this](std::string_view profile) { look_at(profile); }, [](std::string_view, std::string_view) {});
        each_profile([this](std::string_view profile) { take(profile); },
                     [this](std::string_view resource, std::string_view scope) { begin(resource, scope); });
        return std::move(request_);
    }

private:
    template <class Field, class Visit>
    static void each(std::string_view message, const Visit& visit) {
        CheckedMessage<Field> field{message};
        while (field.next()) {
            visit(field);
        }
    }

    // Visits the fields of one number.
    template <class Field, class Visit>
    static void each_of(std::string_view message, Field tag, const Visit& visit) {
        CheckedMessage<Field> field{message};
        while (field.next(tag)) {
            visit(field);
        }
    }

    // -- tables -------------------------------------------------------------------------------------------------------

    void read_dictionary(std::string_view message) {
        // Strings first: the others refer to them.
        each_of(message, otlp::Dictionary::kString, [this](auto& field) { strings_.push_back(field.get_text()); });
        each_of(message, otlp::Dictionary::kAttribute,
                [this](auto& field) { attributes_.push_back(attribute(field.get_text())); });
        tables_->mappings.clear();
        each<otlp::Dictionary>(message, [this](auto& field) {
            switch (field.tag()) {
                case otlp::Dictionary::kMapping: tables_->mappings.push_back(mapping(field.get_text())); break;
                case otlp::Dictionary::kFunction: tables_->functions.push_back(function(field.get_text())); break;
                case otlp::Dictionary::kLink: links_.push_back(link(field.get_text())); break;
                default: field.skip();
            }
        });
        if (tables_->mappings.empty()) {
            tables_->mappings.emplace_back();
        }
        each_of(message, otlp::Dictionary::kLocation,
                [this](auto& field) { tables_->locations.push_back(location(field.get_text())); });
        each_of(message, otlp::Dictionary::kStack,
                [this](auto& field) { kept_->stacks.push_back(stack(field.get_text())); });
    }

    template <class Table>
    static const auto& at(const Table& table, std::uint64_t index, const char* what) {
        if (index >= table.size()) {
            throw Rejected{std::string{"it uses "} + what + " " + std::to_string(index) + " of " +
                           std::to_string(table.size())};
        }
        return table[static_cast<std::size_t>(index)];
    }

    [[nodiscard]] std::string_view string(std::uint64_t index) const {
        return index == 0 ? std::string_view{} : at(strings_, index, "string");
    }

    Value value(std::string_view message) {
        Value made;
        each<otlp::AnyValue>(message, [&](auto& field) {
            switch (field.tag()) {
                case otlp::AnyValue::kText: made = {field.get_text()}; break;
                case otlp::AnyValue::kString: made = {string(field.get_uint64())}; break;
                case otlp::AnyValue::kBool: made = {field.get_bool() ? "true" : "false"}; break;
                case otlp::AnyValue::kInteger: made = {{}, field.get_int64(), true}; break;
                case otlp::AnyValue::kDouble:
                    made = {kept_->texts.emplace_back(std::to_string(field.get_double()))};
                    break;
                default: field.skip();  // bytes, lists
            }
        });
        return made;
    }

    Attribute attribute(std::string_view message) {
        Attribute made;
        each<otlp::Attribute>(message, [&](auto& field) {
            switch (field.tag()) {
                case otlp::Attribute::kKey: made.key = string(field.get_uint64()); break;
                case otlp::Attribute::kValue: made.value = value(field.get_text()); break;
                case otlp::Attribute::kUnit: made.unit = string(field.get_uint64()); break;
                default: field.skip();
            }
        });
        return made;
    }

    // The text of the first of the message's attributes that has one of these keys, the earlier key first.
    template <class Field>
    [[nodiscard]] std::string_view text_of(Field& field, std::span<const std::string_view> keys,
                                           std::pair<std::size_t, std::string_view> best) const {
        field.each_number([&](std::uint64_t index) {
            const Attribute& one = at(attributes_, index, "attribute");
            const auto place = static_cast<std::size_t>(std::ranges::find(keys, one.key) - keys.begin());
            if (place < best.first) {
                best = {place, one.value.text};
            }
        });
        return best.second;
    }

    PprofProfile::Mapping mapping(std::string_view message) {
        constexpr std::array<std::string_view, 2> kIds{"process.executable.build_id.gnu",
                                                       "process.executable.build_id.htlhash"};
        PprofProfile::Mapping made;
        each<otlp::Mapping>(message, [&](auto& field) {
            switch (field.tag()) {
                case otlp::Mapping::kStart: made.start = field.get_uint64(); break;
                case otlp::Mapping::kLimit: made.limit = field.get_uint64(); break;
                case otlp::Mapping::kFileOffset: made.file_offset = field.get_uint64(); break;
                case otlp::Mapping::kFileName: made.file_name = string(field.get_uint64()); break;
                case otlp::Mapping::kAttributes:
                    made.build_id = text_of(field, kIds, {kIds.size(), made.build_id});
                    break;
                default: field.skip();
            }
        });
        return made;
    }

    [[nodiscard]] PprofProfile::Function function(std::string_view message) const {
        PprofProfile::Function made;
        each<otlp::Function>(message, [&](auto& field) {
            switch (field.tag()) {
                case otlp::Function::kName: made.name = string(field.get_uint64()); break;
                case otlp::Function::kSystemName: made.system_name = string(field.get_uint64()); break;
                case otlp::Function::kFileName: made.file_name = string(field.get_uint64()); break;
                case otlp::Function::kFirstLine: made.first_line = field.get_int64(); break;
                default: field.skip();
            }
        });
        return made;
    }

    static Link link(std::string_view message) {
        Link made;
        each<otlp::Link>(message, [&](auto& field) {
            switch (field.tag()) {
                case otlp::Link::kTraceId: made.trace_id = field.get_text(); break;
                case otlp::Link::kSpanId: made.span_id = field.get_text(); break;
                default: field.skip();
            }
        });
        return made;
    }

    PprofProfile::Location location(std::string_view message) {
        constexpr std::array<std::string_view, 1> kType{"profile.frame.type"};
        PprofProfile::Location made;
        std::string_view type;
        each<otlp::Location>(message, [&](auto& field) {
            switch (field.tag()) {
                case otlp::Location::kMapping: {
                    const std::uint64_t index = field.get_uint64();
                    (void)at(tables_->mappings, index, "mapping");
                    made.mapping = static_cast<std::uint32_t>(index);
                    break;
                }
                case otlp::Location::kAddress: made.address = field.get_uint64(); break;
                case otlp::Location::kLines: made.lines.push_back(line(field.get_text())); break;
                case otlp::Location::kAttributes: type = text_of(field, kType, {kType.size(), type}); break;
                default: field.skip();
            }
        });
        if (type == "kernel" && made.mapping == 0) {
            made.mapping = kernel_mapping();
        }
        return made;
    }

    std::uint32_t kernel_mapping() {
        if (kernel_mapping_ == 0) {
            kernel_mapping_ = static_cast<std::uint32_t>(tables_->mappings.size());
            tables_->mappings.emplace_back().file_name = kKernelMapping;
        }
        return kernel_mapping_;
    }

    [[nodiscard]] PprofProfile::Line line(std::string_view message) const {
        PprofProfile::Line made;
        each<otlp::Line>(message, [&](auto& field) {
            switch (field.tag()) {
                case otlp::Line::kFunction: {
                    const std::uint64_t index = field.get_uint64();
                    (void)at(tables_->functions, index, "function");
                    made.function = static_cast<std::uint32_t>(index);
                    break;
                }
                case otlp::Line::kLine: made.line = field.get_int64(); break;
                case otlp::Line::kColumn: made.column = field.get_int64(); break;
                default: field.skip();
            }
        });
        return made;
    }

    [[nodiscard]] std::vector<std::uint32_t> stack(std::string_view message) const {
        std::vector<std::uint32_t> made;
        each_of(message, otlp::Stack::kLocations, [&](auto& field) {
            field.each_number([&](std::uint64_t index) {
                (void)at(tables_->locations, index, "location");
                if (index != 0) {
                    made.push_back(static_cast<std::uint32_t>(index));
                }
            });
        });
        return made;
    }

    // -- profiles -----------------------------------------------------------------------------------------------------

    template <class Visit, class Begin>
    void each_profile(const Visit& visit, const Begin& begin) {
        each_of(kept_->body, otlp::Request::kResourceProfiles, [&](auto& request) {
            const std::string_view resource_profiles = request.get_text();
            std::string_view resource;
            each_of(resource_profiles, otlp::ResourceProfiles::kResource,
                    [&](auto& field) { resource = field.get_text(); });
            each_of(resource_profiles, otlp::ResourceProfiles::kScopeProfiles,
                    [&](auto& field) { each_of_scope(field.get_text(), resource, visit, begin); });
        });
    }

    template <class Visit, class Begin>
    static void each_of_scope(std::string_view scope_profiles, std::string_view resource, const Visit& visit,
                              const Begin& begin) {
        std::string_view scope;
        each_of(scope_profiles, otlp::ScopeProfiles::kScope, [&](auto& field) { scope = field.get_text(); });
        begin(resource, scope);
        each_of(scope_profiles, otlp::ScopeProfiles::kProfiles, [&](auto& field) { visit(field.get_text()); });
    }

    // Looks for fields that only one of the layouts has.
    void look_at(std::string_view profile) {
        each_of(profile, otlp::Profile::kSamples, [&](auto& field) {
            each<otlp::Sample>(field.get_text(), [&](auto& sample) { look_at_field(sample); });
        });
    }

    void look_at_field(CheckedMessage<otlp::Sample>& field) {
        const bool is_list = field.type() == pbf_wire_type::length_delimited;
        if (field.tag() == otlp::before_1_10::kAttributes) {
            (is_list ? is_1_9_ : is_1_10_) = true;
        } else if (field.tag() == otlp::before_1_10::kLink) {
            (is_list ? is_1_10_ : is_1_9_) = true;
        } else if (field.tag() == otlp::Sample::kAttributes && are_attributes_) {
            std::set<std::string_view> keys;
            field.each_number([&](std::uint64_t index) {
                are_attributes_ = are_attributes_ && index < attributes_.size() && index != 0 &&
                                  keys.insert(attributes_[static_cast<std::size_t>(index)].key).second;
            });
            return;
        }
        field.skip();
    }

    [[nodiscard]] Layout layout() const {
        return is_1_9_ && is_1_10_           ? Layout::kMixed
               : is_1_9_                     ? Layout::k1_9
               : is_1_10_ || are_attributes_ ? Layout::k1_10
                                             : Layout::kUnclear;
    }

    void begin(std::string_view resource, std::string_view scope) {
        process_ = {};
        resource_error_.clear();
        try {
            each_of(scope, otlp::Scope::kName, [this](auto& field) {
                process_.producer = printable(field.get_text()).substr(0, limits::kLabelSizeBytesMax);
            });
            each_of(resource, otlp::Resource::kAttributes, [this](auto& field) { take_attribute(field.get_text()); });
        } catch (const Rejected& rejected) {
            resource_error_ = rejected.why;
        }
        for (const char* key : {"host_id", "host_name", "service_instance_id"}) {
            if (const auto known = process_.labels.find(key); known != process_.labels.end()) {
                process_.target = known->second;
                return;
            }
        }
        process_.target = client_;
    }

    void take_attribute(std::string_view message) {
        std::string_view key;
        Value value_of;
        each<otlp::KeyValue>(message, [&](auto& field) {
            switch (field.tag()) {
                case otlp::KeyValue::kKey: key = field.get_text(); break;
                case otlp::KeyValue::kKeyString: key = string(field.get_uint64()); break;
                case otlp::KeyValue::kValue: value_of = value(field.get_text()); break;
                default: field.skip();
            }
        });
        if (key == "process.pid") {
            process_.pid = in_u32(value_of.number);
        } else if (key == "process.executable.name") {
            process_.command = printable(value_of.text);
        } else if (key == "process.executable.path" && process_.command.empty()) {
            process_.command = printable(value_of.text.substr(value_of.text.rfind('/') + 1));
        } else if (!key.starts_with("process.") && process_.labels.size() < push_limits::kLabelsMax) {
            const std::string text = value_of.is_number ? std::to_string(value_of.number) : printable(value_of.text);
            if (!text.empty()) {
                process_.labels[label_key(key)] = text.substr(0, limits::kLabelSizeBytesMax);
            }
        }
    }

    static std::uint32_t in_u32(std::int64_t number) {
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, 1 << 30));
    }

    void take(std::string_view message) {
        try {
            if (!resource_error_.empty()) {
                throw Rejected{resource_error_};
            }
            if (layout() == Layout::kMixed || layout() == Layout::kUnclear) {
                throw Rejected{
                    "its samples may be of OTLP 1.9 or of 1.10, and mean something else in each: send 1.10 or later"};
            }
            PushedProfile profile = process_;
            profile.tables = tables_ready_;
            profile.keep = kept_;
            read_profile(message, profile);
            if (request_.profiles.size() == push_limits::kProfilesMax) {
                throw Rejected{"it is one of more than " + std::to_string(push_limits::kProfilesMax) + " profiles"};
            }
            request_.profiles.push_back(std::move(profile));
        } catch (const Rejected& rejected) {
            if (request_.rejected_count++ == 0) {
                request_.rejected_why = rejected.why;
            }
        }
    }

    struct Period {
        std::pair<std::string_view, std::string_view> sample_type;
        std::pair<std::string_view, std::string_view> type;
        std::int64_t value = 0;
        std::int64_t time_ns = 0;
        std::int64_t duration_ns = 0;
    };

    void read_profile(std::string_view message, PushedProfile& profile) {
        Period period;
        each<otlp::Profile>(message, [&](auto& field) {
            switch (field.tag()) {
                case otlp::Profile::kSampleType: period.sample_type = value_type(field.get_text()); break;
                case otlp::Profile::kPeriodType: period.type = value_type(field.get_text()); break;
                case otlp::Profile::kPeriod: period.value = field.get_int64(); break;
                case otlp::Profile::kTime: period.time_ns = time_of(field.get_fixed64()); break;
                case otlp::Profile::kDuration: period.duration_ns = time_of(field.get_uint64()); break;
                case otlp::Profile::kDroppedAttributesCount:
                    if (field.type() == pbf_wire_type::length_delimited) {
                        throw Rejected{"its layout is that of OTLP 1.8 or older: send 1.10 or later"};
                    }
                    field.skip();
                    break;
                default: field.skip();
            }
        });
        period.time_ns = period.time_ns == 0 ? now_ns_ : period.time_ns;
        const auto& [type, unit] = period.sample_type;
        const bool has_cpu_time = type == "samples" &&
                                  period.type == std::pair<std::string_view, std::string_view>{"cpu", "nanoseconds"} &&
                                  period.value > 0;
        if (has_cpu_time) {
            profile.types = {{"cpu", "ns"}, {"samples", "count"}};
        } else {
            profile.types = {{type.empty() ? "samples" : printable(type), unit_of_pprof(unit)}};
        }
        const std::int64_t cpu_period = has_cpu_time ? period.value : 0;
        each_of(message, otlp::Profile::kSamples,
                [&](auto& field) { take_sample(field.get_text(), period, cpu_period, profile); });
    }

    static std::int64_t time_of(std::uint64_t ns) {
        if (ns > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            throw Rejected{"a time is after the year 2262"};
        }
        return static_cast<std::int64_t>(ns);
    }

    [[nodiscard]] std::pair<std::string_view, std::string_view> value_type(std::string_view message) const {
        std::pair<std::string_view, std::string_view> made;
        each<otlp::ValueType>(message, [&](auto& field) {
            switch (field.tag()) {
                case otlp::ValueType::kType: made.first = string(field.get_uint64()); break;
                case otlp::ValueType::kUnit: made.second = string(field.get_uint64()); break;
                case otlp::ValueType::kTemporality:
                    throw Rejected{"its layout is that of OTLP 1.8 or older: send 1.10 or later"};
                default: field.skip();
            }
        });
        return made;
    }

    void take_sample(std::string_view message, const Period& period, std::int64_t cpu_period, PushedProfile& profile) {
        const bool is_old = layout() == Layout::k1_9;
        const auto values_tag = is_old ? otlp::before_1_10::kValues : otlp::Sample::kValues;
        const auto attributes_tag = is_old ? otlp::before_1_10::kAttributes : otlp::Sample::kAttributes;
        const auto link_tag = is_old ? otlp::before_1_10::kLink : otlp::Sample::kLink;
        PushedSample sample;
        std::vector<std::int64_t> values;
        std::vector<std::int64_t> times;
        each<otlp::Sample>(message, [&](auto& field) {
            if (field.tag() == otlp::Sample::kStack) {
                if (const std::uint64_t index = field.get_uint64(); index != 0) {
                    sample.locations = at(kept_->stacks, index, "stack");
                }
            } else if (field.tag() == values_tag) {
                field.each_number([&](std::uint64_t value) { values.push_back(static_cast<std::int64_t>(value)); });
            } else if (field.tag() == attributes_tag) {
                field.each_number(
                    [&](std::uint64_t index) { take_label(at(attributes_, index, "attribute"), sample); });
            } else if (field.tag() == link_tag) {
                if (const std::uint64_t index = field.get_uint64(); index != 0) {
                    take_link(at(links_, index, "link"), sample);
                }
            } else if (field.tag() == otlp::Sample::kTimestamps) {
                field.each_fixed64([&](std::uint64_t ns) { times.push_back(time_of(ns)); });
            } else {
                field.skip();
            }
        });
        if (times.empty() ? values.size() > 1 : !values.empty() && values.size() != times.size()) {
            throw Rejected{"a sample has " + std::to_string(values.size()) + " values and " +
                           std::to_string(times.size()) + " timestamps"};
        }
        if (times.empty()) {
            if (values.empty()) {
                return;  // stands for nothing
            }
            times.push_back(period.time_ns);
            profile.last_ns = std::max(profile.last_ns, period.time_ns + period.duration_ns);
        }
        for (std::size_t i = 0; i < times.size(); ++i) {
            add(sample, times[i], values.empty() ? 1 : values[i], cpu_period, profile);
        }
    }

    void add(PushedSample sample, std::int64_t time_ns, std::int64_t value, std::int64_t cpu_period,
             PushedProfile& profile) {
        if (++row_count_ * profile.types.size() > push_limits::kRowsMax) {
            throw Error{ErrorCode::kTooLarge,
                        "it has more than " + std::to_string(push_limits::kRowsMax) + " samples: send fewer at once"};
        }
        sample.time_ns = time_ns;
        if (cpu_period > 0) {
            std::int64_t amount = 0;
            if (value < 0 || __builtin_mul_overflow(value, cpu_period, &amount)) {
                throw Rejected{"a sample's value is out of range"};
            }
            sample.values = {amount, value};
        } else {
            sample.values = {value};
        }
        profile.first_ns = profile.samples.empty() ? time_ns : std::min(profile.first_ns, time_ns);
        profile.last_ns = std::max(profile.last_ns, time_ns);
        profile.samples.push_back(std::move(sample));
    }

    static void take_label(const Attribute& attribute, PushedSample& sample) {
        if (attribute.key == "thread.id") {
            sample.tid = in_u32(attribute.value.number);
        } else if (attribute.key == "process.pid") {
            sample.pid = in_u32(attribute.value.number);
        } else if (attribute.key == "thread.name") {
            sample.thread_name = attribute.value.text;
        } else if (attribute.key == "cpu.logical_number") {
            sample.cpu = in_u32(attribute.value.number);
        } else if (!attribute.key.empty()) {
            sample.labels.push_back({attribute.key, attribute.value.text, attribute.unit, attribute.value.number});
        }
    }

    void take_link(const Link& link, PushedSample& sample) {
        for (const auto& [key, id] : {std::pair{"trace_id", link.trace_id}, std::pair{"span_id", link.span_id}}) {
            if (!id.empty()) {
                sample.labels.push_back({key, kept_->texts.emplace_back(hex_of(id)), {}, 0});
            }
        }
    }

    const std::string& client_;
    std::int64_t now_ns_;
    std::shared_ptr<Kept> kept_;
    std::shared_ptr<PprofProfile> tables_ = std::make_shared<PprofProfile>();
    std::shared_ptr<const PprofProfile> tables_ready_;
    std::vector<std::string_view> strings_;
    std::vector<Attribute> attributes_;
    std::vector<Link> links_;
    std::uint32_t kernel_mapping_ = 0;
    bool is_1_9_ = false;
    bool is_1_10_ = false;
    bool are_attributes_ = true;  // field 2 of all samples may be
    PushedProfile process_;       // of the current resource and scope
    std::string resource_error_;  // why the profiles of the current resource are rejected
    std::uint64_t row_count_ = 0;
    PushedRequest request_;
};

}  // namespace

Result<PushedRequest> read_otlp(std::string body_untrusted, const std::string& client, UtcNs now) {
    try {
        return OtlpReader{std::move(body_untrusted), client, now}.run();
    } catch (const protozero::exception& exception) {
        return Error{ErrorCode::kInvalid, std::string{"no OTLP profiles ("} + exception.what() + ")"};
    } catch (const Rejected& rejected) {
        return Error{ErrorCode::kInvalid, "its dictionary: " + rejected.why};
    } catch (const Error& error) {
        return Error{error};
    }
}

}  // namespace perfleet
