#include "query-engine/statistic/diff/diff.h"

#include "query-engine/statistic/diff/diff_parts.h"
#include "query-engine/statistic/session/measure.h"

namespace perfleet {

Result<Answer> make_diff(const Scan& before, const Scan& after, Symbolizer& symbolizer, const DiffOptions& options) {
    DiffSubject subject = options.subject.value_or(DiffSubject::kProfile);
    if (!options.subject) {
        for (const Scan* scan : {&before, &after}) {
            const auto has = PERFLEET_TRY(has_latencies(*scan));
            subject = has ? DiffSubject::kLatency : subject;
        }
    }
    const bool is_profile = subject == DiffSubject::kProfile;
    if (is_profile && !options.by.empty()) {
        return Error{ErrorCode::kUsage,
                     "--by: is for latencies; profiles are compared whole, so select what to compare "
                     "(--select '{target=\"...\"}'; perfleet top --by target shows each one)"};
    }
    for (const FailCondition& condition : options.conditions) {
        if (is_profile != (condition.figure == "self" || condition.figure == "children")) {
            return Error{ErrorCode::kUsage, "--fail-if " + condition.text + ": what is compared are " +
                                                (is_profile ? "profiles: self, children (--of latency for latencies)"
                                                            : "latencies: mean, median, p99.9, max (--of profile for "
                                                              "profiles)")};
        }
    }
    auto answer =
        is_profile ? make_profile_diff(before, after, symbolizer, options) : make_latency_diff(before, after, options);
    if (answer.ok()) {
        warn_of_open_sessions(before, answer->warnings);
        warn_of_open_sessions(after, answer->warnings);
        drop_repeated(answer->warnings);
    }
    return answer;
}

}  // namespace perfleet
