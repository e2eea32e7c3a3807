// Label selectors of Pyroscope's clients as selections of the query service.
//
// Labels of sessions select sessions. `service_name` is such a label where a session has it; rows of other sessions
// belong to the service that `key` names: their command (comm), unit or container, or their session's target or label.
// A selector with a matcher on services therefore becomes up to two selections, which have no row in common:
//
//   {service_name="a"}  ─▶  sessions with the label service_name="a"
//                      └─▶  of sessions without that label the rows of command "a"
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/http/http_service.h"
#include "storage/select/matcher.h"

namespace perfleet::pyroscope {

inline constexpr std::int64_t kNsPerMs = 1'000'000;
inline constexpr const char* kServiceName = "service_name";
inline constexpr const char* kProfileType = "__profile_type__";

struct TimeRange {
    std::int64_t start_ms = 0;
    std::int64_t end_ms = 0;  // excluded

    // Errors: kInvalid (empty).
    [[nodiscard]] Result<Done> check() const;
    // The options from and until.
    [[nodiscard]] OptionValues values() const;
};

// Matchers on one label as a filter of its values.
class ValueFilter {
public:
    ValueFilter() = default;  // takes all
    // Errors: kUsage (an invalid regular expression).
    [[nodiscard]] static Result<ValueFilter> make(std::vector<Matcher> matchers);

    [[nodiscard]] bool takes(const std::string& value) const;

private:
    SessionFilter filter_;
};

struct Selector {
    std::vector<Matcher> services;  // on service_name
    std::vector<Matcher> rest;
    ValueFilter types;  // on __profile_type__

    // `{a="b"}`. Errors: kUsage.
    [[nodiscard]] static Result<Selector> read(std::string_view text_untrusted);
};

// A selection of the service, and the key (`by` of the command series) of its services.
struct Part {
    OptionValues values;
    std::string service_key;
};

class Services {
public:
    // Borrows the backend and the flag. `key`: comm, unit, container, target or a label.
    Services(const HttpBackend& backend, std::string key, const std::atomic<bool>& cancelled)
        : backend_{backend}, key_{std::move(key)}, cancelled_{cancelled} {}

    // The selections of a selector's rows, without those known to be empty. `range` is options that all have, `types`
    // the selections of a profile type. Services count if the selector names some or `by_service` is set. Errors:
    // kUsage; those of the service.
    [[nodiscard]] Result<std::vector<Part>> parts(const Selector& selector, const OptionValues& range,
                                                  const std::vector<OptionValues>& types, bool by_service) const;

    // The name that clients see for a service without a name.
    [[nodiscard]] static std::string shown(const std::string& service) {
        return service.empty() ? "unknown_service" : service;
    }

private:
    [[nodiscard]] Result<Done> add_parts(const Selector& selector, const OptionValues& range, const OptionValues& type,
                                         bool by_service, std::vector<Part>& parts) const;
    [[nodiscard]] Result<bool> has_label(const OptionValues& range) const;
    // Whether sessions of the selection recorded the type's event.
    [[nodiscard]] Result<bool> has_event(const OptionValues& values, const OptionValues& type) const;
    [[nodiscard]] Result<std::vector<std::string>> names(const Part& part, const std::vector<Matcher>& matchers) const;

    const HttpBackend& backend_;
    std::string key_;
    const std::atomic<bool>& cancelled_;
};

}  // namespace perfleet::pyroscope
