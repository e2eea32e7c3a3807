// The two files of a key, as `perfleet keygen` writes them: the secret one stays where it was made; the public one
// enrols its owner in the folder where it is put (a gateway's --collectors or --query-clients folder).
//
//   # a comment                       blank lines and lines that begin with # are passed over
//   name = board-7                    the target's name; also the file's name
//   public-key = <40 characters>      Z85
//   secret-key = <40 characters>      only in the secret file
//   label.rack = r12                  only in the public file; any number up to limits::kLabelsMax
//
// Each key of a line may occur once; unknown ones are refused. Hosts only; text in, values out. Only the functions at
// the end open files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/peers/public_key.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"

namespace perfleet {

inline constexpr std::size_t kKeyFileSizeBytesMax = 64U << 10;
inline constexpr std::size_t kPeerNameSizeBytesMax = 200;  // with its ending it must fit into a file name
inline constexpr std::string_view kSecretFileEnding = ".key";
inline constexpr std::string_view kPublicFileEnding = ".pub";

// The owner of a key, as enrolled by the operator.
struct Enrolment {
    std::string name;
    TargetId target;  // target_id_of(name)
    PublicKey key;
    std::vector<std::pair<std::string, std::string>> labels;  // sorted by key, keys unique

    friend bool operator==(const Enrolment&, const Enrolment&) = default;
};

struct SecretKey {
    std::string name;
    std::string public_text;  // Z85
    std::string secret_text;  // Z85; never log it
};

// A client's keys for a connection: its own, and that of the expected server.
struct ConnectKeys {
    SecretKey own;
    PublicKey server;
};

// FNV-1a with 64 bits over the name's bytes (offset basis 0xcbf29ce484222325, prime 0x100000001b3): the same name gives
// the same target, on every machine and after every restart.
[[nodiscard]] TargetId target_id_of(std::string_view name);

// Whether the name has 1 to kPeerNameSizeBytesMax bytes without spaces, control characters and '/', and doesn't begin
// with '.' or '-'.
[[nodiscard]] bool is_peer_name(std::string_view name);

// Errors: kInvalid, kTooLarge: "PLACE:LINE: what is wrong, and the way out".
[[nodiscard]] Result<Enrolment> parse_enrolment(std::string_view text, const std::string& place);
[[nodiscard]] Result<SecretKey> parse_secret_key(std::string_view text, const std::string& place);

[[nodiscard]] std::string format_enrolment(const Enrolment& enrolment);
[[nodiscard]] std::string format_secret_key(const SecretKey& key);

// -- files ------------------------------------------------------------------------------------------------------------

// The content of a regular file of at most kKeyFileSizeBytesMax. Errors: kInvalid, kTooLarge, and those of errno.
[[nodiscard]] Result<std::string> read_key_file(const std::string& path);

// Errors: kPermission (others than the owner can read the file; names the way out), and those of reading and parsing.
[[nodiscard]] Result<SecretKey> load_secret_key(const std::string& path);

// A public key as a user names it: a file (public or enrolment), or the 40 characters themselves. `option` is named in
// errors.
[[nodiscard]] Result<PublicKey> load_public_key(std::string_view option, const std::string& file_or_text);

// The keys that `--key` and `--gateway-key` name; nothing if both are empty. Errors: only kUsage (one without the
// other, a missing file, an invalid key), so that they can't be confused with a command's own kNotFound.
[[nodiscard]] Result<std::optional<ConnectKeys>> load_connect_keys(const std::string& key_file,
                                                                   const std::string& gateway_key);

}  // namespace perfleet
