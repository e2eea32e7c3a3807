#include "query-engine/http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace perfleet {
namespace {

constexpr std::string_view kSessionName = "perfleet";
constexpr int kNameSizeBytesMax = 200;

Error failed(const char* option, const std::string& path) {
    const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return {ErrorCode::kInvalid,
            std::string{option} + " " + path + ": " + (reason == nullptr ? "no usable PEM" : reason)};
}

Result<Done> check_key_mode(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        return error_from_errno(errno, "--http-key " + path);
    }
    return (status.st_mode & S_IRWXO) == 0
               ? Result<Done>{Done{}}
               : Error{ErrorCode::kPermission,
                       "--http-key " + path + ": others can read or write this private key; chmod o-rwx " + path};
}

// A key with a passphrase isn't asked for at a terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

}  // namespace

Result<TlsContext> load_tls(const TlsFiles& files, bool needs_client) {
    TlsContext context{SSL_CTX_new(TLS_server_method()), &SSL_CTX_free};
    if (context == nullptr) {
        return failed("--http-certificate", files.certificate);
    }
    SSL_CTX* const raw = context.get();
    SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
    SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);  // of idle connections
    SSL_CTX_set_default_passwd_cb(raw, no_passphrase);
    SSL_CTX_set_session_id_context(raw, reinterpret_cast<const unsigned char*>(kSessionName.data()),
                                   kSessionName.size());
    if (SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) != 1) {
        return failed("--http-certificate", files.certificate);
    }
    PERFLEET_TRY(check_key_mode(files.key));
    if (SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(raw) != 1) {
        return failed("--http-key", files.key);
    }
    if (!files.client_ca.empty()) {
        STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(files.client_ca.c_str());
        if (names == nullptr || SSL_CTX_load_verify_locations(raw, files.client_ca.c_str(), nullptr) != 1) {
            return failed("--http-client-ca", files.client_ca);
        }
        SSL_CTX_set_client_CA_list(raw, names);
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | (needs_client ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
    }
    return context;
}

std::string client_name_of(ssl_st* connection) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate{SSL_get1_peer_certificate(connection), &X509_free};
    if (certificate == nullptr || SSL_get_verify_result(connection) != X509_V_OK) {
        return {};
    }
    const X509_NAME* const subject = X509_get_subject_name(certificate.get());
    const int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    unsigned char* text = nullptr;
    const int size =
        index < 0 ? -1 : ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)));
    std::string name{reinterpret_cast<const char*>(text), static_cast<std::size_t>(std::max(size, 0))};
    OPENSSL_free(text);
    const bool is_name = size <= kNameSizeBytesMax && std::ranges::none_of(name, [](char c) {
                             return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
                         });
    return is_name ? name : std::string{};
}

}  // namespace perfleet
