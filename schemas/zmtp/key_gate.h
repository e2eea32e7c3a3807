// Decides who may connect to a server with keys: the server's own pair, the folder of allowed keys, and the number of
// connections of each. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "schemas/peers/key_folder.h"
#include "schemas/peers/public_key.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/zmtp/curve_server.h"

namespace perfleet::zmtp {

// Places of keys, and the options that name them, for messages.
struct KeyPlaces {
    std::string key_file;  // the server's own
    std::string folder_option;
    std::string folder;  // of the allowed keys
};

class KeyGate {
public:
    // Errors: kInvalid (key file), and those of reading keys.
    [[nodiscard]] static Result<std::unique_ptr<KeyGate>> open(const KeyPlaces& places, const LogText& log);

    [[nodiscard]] const ServerKeys& own() const { return own_; }

    // Null: not allowed. Logged with the address, rate-limited, for operators who forgot an enrolment.
    [[nodiscard]] KeySet::Entry find(const PublicKey& key, int peer_fd, std::uint64_t now_ns);
    // Counts a connection; returns the number of this key's connections, with it.
    std::size_t add_connection(const PublicKey& key) { return ++connections_[key]; }
    void remove_connection(const PublicKey& key);

    // True: the allowed keys have changed.
    [[nodiscard]] bool refresh(std::uint64_t now_ns) { return allowed_->refresh(now_ns); }
    // False: this entry was removed or replaced.
    [[nodiscard]] bool allows(const KeySet::Entry& entry) const;

    void add_to(TransportCounts& counts) const;

private:
    KeyGate(const ServerKeys& own, std::unique_ptr<KeyFolder> allowed, LogText log);

    ServerKeys own_;
    std::unique_ptr<KeyFolder> allowed_;
    LogText log_;
    std::unordered_map<PublicKey, std::size_t, PublicKey::Hash> connections_;
    std::uint64_t reports_since_ns_ = 0;
    std::uint64_t report_count_ = 0;
};

}  // namespace perfleet::zmtp
