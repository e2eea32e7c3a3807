#include "tests/benchmark/crowd/crowd_keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "schemas/peers/key_file.h"
#include "schemas/peers/key_folder.h"
#include "schemas/zmtp/new_key.h"

namespace perfleet {
namespace {

Result<Done> write_file(const std::string& path, const std::string& text, mode_t mode) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor < 0) {
        return error_from_errno(errno, path);
    }
    const ssize_t size = ::write(descriptor, text.data(), text.size());
    const int failure = size == static_cast<ssize_t>(text.size()) ? 0 : size < 0 ? errno : ENOSPC;
    ::close(descriptor);
    if (failure != 0) {
        return error_from_errno(failure, path);
    }
    return Done{};
}

Enrolment enrolment_of(const SecretKey& key) {
    return {key.name, target_id_of(key.name), decode_public_key(key.public_text).value_or(PublicKey{}), {}};
}

Result<std::string> make_one(const std::string& folder, std::uint64_t number) {
    const auto key = PERFLEET_TRY(make_secret_key(crowd_name(number)));
    Enrolment enrolment = enrolment_of(key);
    enrolment.labels = {{"crowd", "simulated"}, {"rack", key.name}};
    const std::string path = folder + "/collectors/" + key.name + std::string{kPublicFileEnding};
    PERFLEET_TRY(write_file(path, format_enrolment(enrolment), 0644));
    return key.public_text + " " + key.secret_text + "\n";
}

template <class Work>
KeyFolderCost::Times time_of(Work work) {
    const auto now_ns = [](clockid_t clock) {
        timespec time{};
        ::clock_gettime(clock, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
    };
    const std::uint64_t began_ns = now_ns(CLOCK_MONOTONIC);
    const std::uint64_t cpu_began_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    work();
    return {now_ns(CLOCK_MONOTONIC) - began_ns, now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_began_ns};
}

}  // namespace

Result<Done> make_crowd_keys(const std::string& folder, const CrowdPlan& plan) {
    if (::mkdir((folder + "/collectors").c_str(), 0755) != 0) {
        return error_from_errno(errno, folder + "/collectors");
    }
    const auto gateway = PERFLEET_TRY(make_secret_key("gateway"));
    std::string pairs;
    for (std::uint64_t number = plan.first; number < plan.first + plan.target_count; ++number) {
        const auto pair = PERFLEET_TRY(make_one(folder, number));
        pairs += pair;
    }
    auto written = write_file(folder + "/gateway.key", format_secret_key(gateway), 0600);
    if (written.ok()) {
        written = write_file(folder + "/gateway.pub", format_enrolment(enrolment_of(gateway)), 0644);
    }
    if (written.ok()) {
        written = write_file(folder + "/crowd.keys", pairs, 0600);
    }
    return written;
}

std::string KeyFolderCost::json() const {
    const auto text = [](const char* name, const Times& times) {
        return ",\"" + std::string{name} + "_ms\":" + std::to_string(static_cast<double>(times.duration_ns) * 1e-6) +
               ",\"" + name + "_cpu_ms\":" + std::to_string(static_cast<double>(times.cpu_ns) * 1e-6);
    };
    return "{\"keys\":" + std::to_string(key_count) + text("first", first) + text("unchanged", unchanged) +
           text("changed", changed) + "}";
}

Result<KeyFolderCost> measure_key_folder(const std::string& folder) {
    KeyFolderCost cost;
    const std::string path = folder + "/collectors";
    std::optional<Result<std::unique_ptr<KeyFolder>>> opened;
    cost.first = time_of([&] { opened.emplace(KeyFolder::open("--keys", path, [](std::string_view) {})); });
    if (!opened->ok()) {
        return opened->error();
    }
    KeyFolder& keys = ***opened;
    cost.key_count = keys.set()->size();
    // Later than any full check can be due; the first one reads again what was written just now.
    std::uint64_t now_ns = KeyFolder::kWholeLookNs;
    bool has_changed = keys.refresh(now_ns);
    cost.unchanged = time_of([&] { has_changed = keys.refresh(now_ns += KeyFolder::kWholeLookNs); });
    const auto key = PERFLEET_TRY(make_secret_key("crowd-newcomer"));
    const std::string newcomer = path + "/" + key.name + std::string{kPublicFileEnding};
    PERFLEET_TRY(write_file(newcomer, format_enrolment(enrolment_of(key)), 0644));
    cost.changed = time_of([&] { has_changed = keys.refresh(now_ns); });
    ::unlink(newcomer.c_str());
    if (!has_changed || keys.set()->size() != cost.key_count + 1) {
        return Error{ErrorCode::kInvalid, path + ": a new file wasn't noticed"};
    }
    return cost;
}

Result<std::vector<CurveClientKeys>> load_crowd_keys(const std::string& folder, const CrowdPlan& plan) {
    const auto gateway = PERFLEET_TRY(load_public_key("--keys", folder + "/gateway.pub"));
    const std::string path = folder + "/crowd.keys";
    std::ifstream file{path};
    std::vector<CurveClientKeys> keys;
    std::string public_text;
    std::string secret_text;
    for (std::uint64_t number = 0; number < plan.first + plan.target_count; ++number) {
        if (!(file >> public_text >> secret_text)) {
            return Error{ErrorCode::kInvalid, path + ": has fewer keys than there are targets"};
        }
        // Both are 32 bytes of Z85.
        const auto own_public = decode_public_key(public_text);
        const auto own_secret = decode_public_key(secret_text);
        if (!own_public.has_value() || !own_secret.has_value()) {
            return Error{ErrorCode::kInvalid, path + ": not a pair of keys in each line"};
        }
        if (number >= plan.first) {
            keys.push_back({gateway.bytes, own_public->bytes, own_secret->bytes});
        }
    }
    return keys;
}

}  // namespace perfleet
