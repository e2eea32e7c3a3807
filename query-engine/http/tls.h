// TLS of the HTTP server: OpenSSL's context, made from PEM files. The only code that calls OpenSSL itself; Boost.Asio
// uses the context (http_server.cpp).
//
// TLS 1.2 and 1.3. A context is immutable and may be used by several connections at once.
#pragma once

#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"

struct ssl_ctx_st;
struct ssl_st;

namespace perfleet {

struct TlsFiles {
    std::string certificate;  // the chain
    std::string key;
    std::string client_ca;  // authorities of client certificates; empty: clients have none
};

using TlsContext = std::shared_ptr<ssl_ctx_st>;

// `needs_client`: a client without a certificate is refused in the handshake. A certificate of another authority is
// always refused. Errors: kInvalid, kPermission (others can read the key), those of reading; with option and file.
[[nodiscard]] Result<TlsContext> load_tls(const TlsFiles& files, bool needs_client);

// The common name of a client's verified certificate; empty: it has no certificate, or one without a name.
[[nodiscard]] std::string client_name_of(ssl_st* connection);

}  // namespace perfleet
