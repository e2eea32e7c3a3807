#include "schemas/zmtp/key_gate.h"

#include <utility>

#include "schemas/peers/key_file.h"
#include "schemas/zmtp/listener.h"

namespace perfleet::zmtp {
namespace {

constexpr std::uint64_t kReportsMax = 4;
constexpr std::uint64_t kReportsEveryNs = 10'000'000'000;

}  // namespace

KeyGate::KeyGate(const ServerKeys& own, std::unique_ptr<KeyFolder> allowed, LogText log)
    : own_{own}, allowed_{std::move(allowed)}, log_{std::move(log)} {}

Result<std::unique_ptr<KeyGate>> KeyGate::open(const KeyPlaces& places, const LogText& log) {
    const auto key = load_secret_key(places.key_file);
    if (!key.ok()) {
        return Error{key.error().code, "--key " + key.error().message};
    }
    const auto own = decode_server_keys(key->public_text, key->secret_text);
    if (!own.has_value()) {
        return Error{
            ErrorCode::kInvalid,
            places.key_file + ": its public-key isn't that of its secret-key; make a new one: perfleet keygen"};
    }
    auto folder = PERFLEET_TRY(KeyFolder::open(places.folder_option, places.folder, log));
    return std::unique_ptr<KeyGate>{new KeyGate{*own, std::move(folder), log}};
}

KeySet::Entry KeyGate::find(const PublicKey& key, int peer_fd, std::uint64_t now_ns) {
    KeySet::Entry entry = allowed_->set()->find(key);
    if (entry == nullptr) {
        if (now_ns - reports_since_ns_ >= kReportsEveryNs) {
            reports_since_ns_ = now_ns;
            report_count_ = 0;
        }
        if (++report_count_ <= kReportsMax) {
            log_("refused a peer at " + peer_address(peer_fd) + ": its key " + encode_public_key(key) +
                 " is not on the allow-list");
        }
    }
    return entry;
}

void KeyGate::remove_connection(const PublicKey& key) {
    const auto found = connections_.find(key);
    if (found != connections_.end() && --found->second == 0) {
        connections_.erase(found);
    }
}

bool KeyGate::allows(const KeySet::Entry& entry) const {
    const KeySet::Entry now = allowed_->set()->find(entry->key);
    return now != nullptr && (now == entry || *now == *entry);
}

void KeyGate::add_to(TransportCounts& counts) const {
    counts.keys_enrolled = allowed_->set()->size();
    counts.key_files_refused = allowed_->bad_file_count();
}

}  // namespace perfleet::zmtp
