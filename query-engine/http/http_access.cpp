#include "query-engine/http/http_access.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "schemas/peers/key_file.h"
#include "schemas/text/amount.h"
#include "schemas/text/hex.h"
#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr std::string_view kHashPrefix = "sha256:";
constexpr std::string_view kQuotaPrefix = "quota=";

std::string_view take_word(std::string_view& line) {
    constexpr std::string_view kBlanks = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    line.remove_prefix(word.size());
    return word;
}

Result<std::uint8_t> roles_of(std::string_view list, const std::string& where) {
    std::uint8_t roles = 0;
    while (!list.empty()) {
        const std::string_view role = take_part(list, ',');
        if (role != "read" && role != "push") {
            return Error{ErrorCode::kInvalid,
                         where + "'" + std::string{role.substr(0, 64)} + "' is no role; there are read and push"};
        }
        roles |= static_cast<std::uint8_t>(role == "read" ? HttpRole::kRead : HttpRole::kPush);
    }
    return roles;
}

Result<std::string> text_of(const std::string& path) {
    const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        return error_from_errno(errno, path);
    }
    if (!S_ISREG(status.st_mode) || (status.st_mode & S_IWOTH) != 0) {
        return Error{ErrorCode::kPermission,
                     path + ": every account may write to it, or it is no file; chmod o-w " + path};
    }
    auto text = read_rest(file.get(), HttpTokens::kFileSizeBytesMax);
    return text ? Result<std::string>{std::move(*text)} : error_from_errno(errno, path);
}

}  // namespace

Result<HttpTokens> HttpTokens::parse(std::string_view text, const std::string& place) {
    if (text.size() > kFileSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, place + ": a file of tokens has at most 1 MiB"};
    }
    HttpTokens tokens;
    for (std::size_t number = 1; !text.empty(); ++number) {
        std::string_view line = take_part(text, '\n');
        const std::string where = place + ":" + std::to_string(number) + ": ";
        const std::string_view hash_text = take_word(line);
        if (hash_text.empty() || hash_text.front() == '#') {
            continue;
        }
        // The word isn't printed: it may be the token itself.
        const auto bytes = bytes_of_hex(hash_text.substr(std::min(kHashPrefix.size(), hash_text.size())));
        TokenHash hash{};
        if (!hash_text.starts_with(kHashPrefix) || !bytes || bytes->size() != hash.size()) {
            return Error{ErrorCode::kInvalid, where +
                                                  "it doesn't begin with sha256: and 64 hexadecimal digits, as "
                                                  "`perfleet keygen --token` prints them"};
        }
        std::ranges::copy(*bytes, hash.begin());
        HttpIdentity identity;
        identity.roles = PERFLEET_TRY(roles_of(take_word(line), where));
        identity.name = take_word(line);
        const std::string_view quota = take_word(line);
        if (identity.roles == 0 || !is_peer_name(identity.name) || !take_word(line).empty() ||
            (!quota.empty() && !quota.starts_with(kQuotaPrefix))) {
            return Error{ErrorCode::kInvalid, where +
                                                  "after the hash come roles (read, push or read,push), a name and, "
                                                  "if it has one, quota=SIZE"};
        }
        if (!quota.empty()) {
            const auto size_bytes = amount_of(quota.substr(kQuotaPrefix.size()), kSizeUnits, 1ULL << 50);
            if (!size_bytes || !identity.may(HttpRole::kPush)) {
                return Error{ErrorCode::kInvalid, where +
                                                      "quota=SIZE is what a client with the role push may push in "
                                                      "an hour, for example quota=500m"};
            }
            identity.push_size_bytes_max = *size_bytes;
        }
        if (std::ranges::any_of(tokens.tokens_, [&](const auto& token) { return token.first == hash; })) {
            return Error{ErrorCode::kInvalid, where + "this token occurs twice"};
        }
        if (tokens.tokens_.size() == kTokensMax) {
            return Error{ErrorCode::kTooLarge, where + "more than " + std::to_string(kTokensMax) + " tokens"};
        }
        tokens.tokens_.emplace_back(hash, std::move(identity));
    }
    return tokens;
}

const HttpIdentity* HttpTokens::find(std::string_view token) const {
    const TokenHash hash = hash_of_token(token);
    const HttpIdentity* found = nullptr;
    for (const auto& [known, identity] : tokens_) {  // compares all of them, so that the time reveals nothing
        found = is_same_hash(known, hash) ? &identity : found;
    }
    return found;
}

Result<HttpAccess> HttpAccess::load(HttpAccessFiles files, LogSink log) {
    HttpAccess access{std::move(files), std::move(log)};
    access.read_ = access.seen_ = access.signature();
    if (const auto read = access.read(); !read.ok()) {
        return Error{ErrorCode::kUsage, read.error().message};
    }
    return access;
}

void HttpAccess::refresh() {
    const Signature now = signature();
    const bool is_steady = now == std::exchange(seen_, now);
    if (!is_steady || now == read_) {
        return;
    }
    read_ = now;
    if (const auto read = this->read(); !read.ok()) {
        log_({LogLevel::kError, "http_access", read.error().message + "; the previous contents stay in use"});
    } else {
        log_({LogLevel::kNotice, "http_access", "tokens and certificates of HTTP were read again"});
    }
}

Result<Done> HttpAccess::read() {
    HttpTokens tokens;
    if (!files_.tokens.empty()) {
        const auto text = text_of(files_.tokens);
        auto parsed = text.ok() ? HttpTokens::parse(*text, files_.tokens) : Result<HttpTokens>{text.error()};
        if (!parsed.ok()) {
            return Error{parsed.error().code, "--http-tokens " + parsed.error().message};
        }
        tokens = std::move(*parsed);
    }
    if (!files_.tls.certificate.empty()) {
        tls_ = PERFLEET_TRY(load_tls(files_.tls, files_.tokens.empty()));
    }
    tokens_ = std::move(tokens);
    return Done{};
}

HttpAccess::Signature HttpAccess::signature() const {
    Signature signature{};
    auto place = signature.begin();
    for (const std::string* path : {&files_.tokens, &files_.tls.certificate, &files_.tls.key, &files_.tls.client_ca}) {
        struct stat status {};
        if (!path->empty() && ::stat(path->c_str(), &status) == 0) {
            for (const auto part :
                 {static_cast<std::uint64_t>(status.st_ino), static_cast<std::uint64_t>(status.st_ctim.tv_sec),
                  static_cast<std::uint64_t>(status.st_ctim.tv_nsec), static_cast<std::uint64_t>(status.st_size)}) {
                *place++ = part;
            }
        } else {
            place += 4;
        }
    }
    return signature;
}

}  // namespace perfleet
