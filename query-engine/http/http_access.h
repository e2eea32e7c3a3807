// Access control of HTTP: the owners of bearer tokens, in a file, and of client certificates; and TLS. Files are read
// again when they change; faulty ones change nothing and are logged.
//
// The format of tokens:
//
//   # a comment
//   sha256:HEX ROLE[,ROLE] NAME [quota=SIZE]   HEX: the SHA-256 of the token; ROLE: read or push; NAME: of the client;
//                                              SIZE: what it may push in an hour, as sent (500m, 20g)
//
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/http/tls.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/zmtp/token.h"

namespace perfleet {

// Bits of a set.
enum class HttpRole : std::uint8_t { kNone = 0, kRead = 1, kPush = 2 };

// The sender of a request, and its permissions.
struct HttpIdentity {
    std::string name;  // empty: no credentials were required
    std::uint8_t roles = 0;
    std::uint64_t push_size_bytes_max = kNoQuota;  // in an hour

    static constexpr std::uint64_t kNoQuota = ~0ULL;
    [[nodiscard]] bool may(HttpRole role) const {
        return (roles & static_cast<std::uint8_t>(role)) == static_cast<std::uint8_t>(role);
    }
};
inline constexpr std::uint8_t kAllHttpRoles = 3;

class HttpTokens {
public:
    static constexpr std::size_t kTokensMax = 1'024;
    static constexpr std::size_t kFileSizeBytesMax = 1U << 20;

    // `place` stands for the file in messages. Errors: kInvalid, kTooLarge, with the line.
    [[nodiscard]] static Result<HttpTokens> parse(std::string_view text, const std::string& place);

    // Null: unknown.
    [[nodiscard]] const HttpIdentity* find(std::string_view token_untrusted) const;

private:
    std::vector<std::pair<TokenHash, HttpIdentity>> tokens_;
};

// Paths; empty: none.
struct HttpAccessFiles {
    std::string tokens;
    TlsFiles tls;
};

class HttpAccess {
public:
    // How often refresh() should be called.
    static constexpr std::uint64_t kRefreshEveryNs = 1'000'000'000;

    // Errors: kUsage, naming the file and, of tokens, the line.
    [[nodiscard]] static Result<HttpAccess> load(HttpAccessFiles files, LogSink log);

    // Reads files that have changed, once they stay the same between two calls.
    void refresh();

    // False: any client that can connect may do everything.
    [[nodiscard]] bool asks() const { return !files_.tokens.empty() || !files_.tls.client_ca.empty(); }
    [[nodiscard]] const HttpTokens& tokens() const { return tokens_; }
    // Null: no TLS. A new one after its files have changed.
    [[nodiscard]] const TlsContext& tls() const { return tls_; }

private:
    // What changes with the files: inode, time of change and size of each.
    using Signature = std::array<std::uint64_t, 16>;

    HttpAccess(HttpAccessFiles files, LogSink log) : files_{std::move(files)}, log_{std::move(log)} {}
    [[nodiscard]] Result<Done> read();
    [[nodiscard]] Signature signature() const;

    HttpAccessFiles files_;
    LogSink log_;
    HttpTokens tokens_;
    TlsContext tls_;
    Signature read_{};
    Signature seen_{};
};

}  // namespace perfleet
