#include "tests/benchmark/crowd/crowd_keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <utility>

#include "schemas/peers/key_file.h"
#include "target-collector/wire/curve_keys.h"

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
    const auto key = make_secret_key(crowd_name(number));
    if (!key.ok()) {
        return key.error();
    }
    Enrolment enrolment = enrolment_of(*key);
    enrolment.labels = {{"crowd", "simulated"}, {"rack", key->name}};
    const std::string path = folder + "/collectors/" + key->name + std::string{kPublicFileEnding};
    if (auto written = write_file(path, format_enrolment(enrolment), 0644); !written.ok()) {
        return std::move(written).error();
    }
    return key->public_text + " " + key->secret_text + "\n";
}

}  // namespace

Result<Done> make_crowd_keys(const std::string& folder, const CrowdPlan& plan) {
    if (::mkdir((folder + "/collectors").c_str(), 0755) != 0) {
        return error_from_errno(errno, folder + "/collectors");
    }
    const auto gateway = make_secret_key("gateway");
    if (!gateway.ok()) {
        return gateway.error();
    }
    std::string pairs;
    for (std::uint64_t number = plan.first; number < plan.first + plan.target_count; ++number) {
        const auto pair = make_one(folder, number);
        if (!pair.ok()) {
            return pair.error();
        }
        pairs += *pair;
    }
    auto written = write_file(folder + "/gateway.key", format_secret_key(*gateway), 0600);
    if (written.ok()) {
        written = write_file(folder + "/gateway.pub", format_enrolment(enrolment_of(*gateway)), 0644);
    }
    if (written.ok()) {
        written = write_file(folder + "/crowd.keys", pairs, 0600);
    }
    return written;
}

Result<std::vector<CurveClientKeys>> load_crowd_keys(const std::string& folder, const CrowdPlan& plan) {
    const auto gateway = load_public_key("--keys", folder + "/gateway.pub");
    if (!gateway.ok()) {
        return gateway.error();
    }
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
            keys.push_back({gateway->bytes, own_public->bytes, own_secret->bytes});
        }
    }
    return keys;
}

}  // namespace perfleet
