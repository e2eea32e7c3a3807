#include "target-collector/linux/option_check.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/delivery_limits.h"
#include "schemas/wire/hello_limits.h"
#include "target-collector/message/sealer.h"
#include "target-collector/source/linux/opening/event_set.h"

namespace perfleet {
namespace {

Error usage(std::string message) { return {ErrorCode::kUsage, std::move(message)}; }

constexpr std::size_t kShownSizeBytesMax = 40;

std::string shown(std::string_view text) {
    return text.size() <= kShownSizeBytesMax ? std::string{text}
                                             : std::string{text.substr(0, kShownSizeBytesMax)} + "...";
}

// Labels for which a gateway would refuse the session.
Result<Done> check_labels(const std::vector<std::pair<std::string, std::string>>& labels) {
    if (labels.size() > limits::kLabelsMax) {
        return usage("--label: " + std::to_string(labels.size()) + " labels; there can be at most " +
                     std::to_string(limits::kLabelsMax));
    }
    for (auto label = labels.begin(); label != labels.end(); ++label) {
        const auto& [key, value] = *label;
        if (key.empty()) {
            return usage("--label ='" + shown(value) + "': a label has a key; write KEY=VALUE");
        }
        if (hello_limits::is_reserved_label(key)) {
            return usage("--label " + key +
                         ": in selections this is the target's own name or architecture (--target sets the name); "
                         "give this label another key");
        }
        for (const auto& [part, text] : {std::pair{"key", &key}, std::pair{"value", &value}}) {
            if (text->size() > limits::kLabelSizeBytesMax) {
                return usage("--label " + shown(key) + ": its " + part + " has " + std::to_string(text->size()) +
                             " bytes; at most " + std::to_string(limits::kLabelSizeBytesMax) + " are allowed");
            }
        }
        if (std::any_of(labels.begin(), label, [&](const auto& before) { return before.first == label->first; })) {
            return usage("--label " + shown(key) + ": this key is given twice; a target has one value of each label");
        }
    }
    return Done{};
}

Result<Done> check_what_is_profiled(const CollectorOptions& options) {
    const int choices = (options.pids.empty() ? 0 : 1) + (options.tids.empty() ? 0 : 1) + (options.uid ? 1 : 0);
    if (!options.all_cpus && choices == 0 && options.command.empty()) {
        return usage(
            "say what to profile: everything (-a), CPUs (-C LIST), processes (-p PID), threads (-t TID), those of a "
            "user "
            "(--uid USER), or a command (-- COMMAND …)");
    }
    if (choices + (options.all_cpus ? 1 : 0) > 1) {
        return usage("-a, -p, -t and --uid exclude each other");
    }
    for (const std::int32_t pid : options.pids) {
        if (pid <= 0) {
            return usage("-p: a process id is greater than 0");
        }
    }
    for (const std::int32_t tid : options.tids) {
        if (tid <= 0) {
            return usage("-t: a thread id is greater than 0");
        }
    }
    return Done{};
}

}  // namespace

std::string size_bounds_text(std::size_t size_bytes_min) {
    return "at least " + std::to_string(size_bytes_min) + " bytes, at most " + std::to_string(kMemorySizeBytesMax) +
           " (" + std::to_string(kMemorySizeBytesMax >> 30U) + " GB)";
}

std::size_t spool_size_bytes_of(const CollectorOptions& options) {
    return options.spool_size_bytes.value_or(options.spool_folder.empty() ? limits::kSpoolSizeBytes
                                                                          : limits::kDiskSpoolSizeBytes);
}

Result<Done> check_options(const CollectorOptions& options) {
    if (!options.take_frame && options.gateways.empty() == options.output_file.empty()) {
        return usage("name either a gateway (--gateway tcp://HOST:PORT) or a file (--output FILE)");
    }
    PERFLEET_TRY(options.check());
    if (!options.spool_folder.empty() && options.gateways.empty()) {
        return usage("--spool keeps batches for a gateway: name it with --gateway");
    }
    if (options.spool_sync_s && options.spool_folder.empty()) {
        return usage("--spool-sync syncs what is on disk: name a folder with --spool");
    }
    if (options.spool_sync_s && !(*options.spool_sync_s >= kSpoolSyncSMin && *options.spool_sync_s <= kSpoolSyncSMax)) {
        return usage("--spool-sync: 0.01 to 3600 seconds");
    }
    if (options.frequency_hz && options.period) {
        return usage("-F and -c exclude each other: name a frequency or a period");
    }
    if (options.frequency_hz == 0U) {
        return usage("-F: a frequency is at least 1 Hz");
    }
    if (options.period == 0U || (options.period && *options.period > INT64_MAX)) {
        return usage("-c: a period is at least 1 and below 2^63");
    }
    PERFLEET_TRY(check_what_is_profiled(options));
    if (options.all_user && options.all_kernel) {
        return usage("--all-user and --all-kernel exclude each other");
    }
    if (options.delay_ms && *options.delay_ms < -1) {
        return usage("-D: milliseconds, or -1 to wait for 'perfleet control'");
    }
    if (options.delay_ms == -1 && (options.gateways.empty() || !options.gateway_name.empty())) {
        return usage(
            "-D -1: 'perfleet control' starts sampling through a gateway, and there is none; give milliseconds");
    }
    if (options.collector_ring_size_bytes < kBatchRingSizeBytesMin ||
        options.collector_ring_size_bytes > kMemorySizeBytesMax) {
        return usage("--ring-size: " + size_bounds_text(kBatchRingSizeBytesMin));
    }
    if (spool_size_bytes_of(options) < kSpoolSizeBytesMin || spool_size_bytes_of(options) > kMemorySizeBytesMax) {
        return usage("--spool-size: " + size_bounds_text(kSpoolSizeBytesMin));
    }
    if (options.duration_s && !(*options.duration_s > 0)) {
        return usage("--duration: more than 0 seconds");
    }
    if (!(options.exit_wait_s >= 0)) {
        return usage("--exit-wait: 0 seconds or more");
    }
    if (options.target_name.size() > hello_limits::kNameSizeBytesMax) {
        return usage("--target " + shown(options.target_name) + ": a name of " +
                     std::to_string(options.target_name.size()) + " bytes; at most " +
                     std::to_string(hello_limits::kNameSizeBytesMax) + " are allowed");
    }
    return check_labels(options.labels);
}

}  // namespace perfleet
