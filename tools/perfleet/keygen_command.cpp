// keygen: makes a key pair, as two files, or a bearer token for HTTP.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/option/program_options.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "schemas/peers/key_file.h"
#include "schemas/text/hex.h"
#include "schemas/wire/hello_limits.h"
#include "schemas/zmtp/new_key.h"
#include "schemas/zmtp/token.h"
#include "tools/perfleet/shell/invocation.h"

namespace perfleet {
namespace {

struct KeygenOptions {
    std::string name;
    std::vector<std::string> labels;
    std::string folder = ".";
    bool is_token = false;
    std::string raw_gateway;
    std::vector<std::string> roles;
};

constexpr mode_t kSecretMode = 0600;
constexpr mode_t kPublicMode = 0644;

// Creates a file that has these rights from the start. Errors: kConflict if it exists.
Result<Done> write_new_file(const std::string& path, const std::string& text, mode_t mode) {
    const FileDescriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)};
    if (!file) {
        if (errno == EEXIST) {
            return Error{ErrorCode::kConflict,
                         path +
                             " is there already, and a key that is overwritten can't be brought back; move it away, "
                             "or choose another NAME or --out"};
        }
        return error_from_errno(errno, path);
    }
    if (::fchmod(file.get(), mode) != 0 || !write_all(file.get(), std::as_bytes(std::span{text})) ||
        ::fsync(file.get()) != 0) {
        const int failure = errno;
        ::unlink(path.c_str());
        return error_from_errno(failure, path);
    }
    return Done{};
}

// The content of the public file, checked as its reader will check it.
Result<std::string> public_text_of(const KeygenOptions& options, const SecretKey& key) {
    const auto public_key = decode_public_key(key.public_text);
    Enrolment enrolment{options.name, target_id_of(options.name), public_key.value_or(PublicKey{}), {}};
    for (const std::string& label : options.labels) {
        const std::size_t equals = label.find('=');
        if (const std::string label_key = label.substr(0, equals); hello_limits::is_reserved_label(label_key)) {
            return Error{
                ErrorCode::kUsage,
                "--label " + label_key +
                    ": in selections this is the target's own name or architecture; give this label another key"};
        }
        enrolment.labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
    }
    std::sort(enrolment.labels.begin(), enrolment.labels.end());
    std::string text = format_enrolment(enrolment);
    const auto parsed = parse_enrolment(text, options.name + std::string{kPublicFileEnding});
    if (!parsed) {
        return Error{ErrorCode::kUsage, parsed.error().message};
    }
    if (*parsed != enrolment) {
        return Error{ErrorCode::kUsage,
                     "--label: keys and values can't begin or end with blanks, and keys have no '='"};
    }
    return text;
}

// Writes the token, and prints the line for its server.
Result<Done> make_token_file(const KeygenOptions& options) {
    const std::string token = PERFLEET_TRY(make_token());
    const std::string path = (std::filesystem::path{options.folder} / (options.name + ".token")).string();
    PERFLEET_TRY(write_new_file(path, token + "\n", kSecretMode));
    const TokenHash hash = hash_of_token(token);
    std::string roles;
    for (const std::string& role : options.roles) {
        roles += (roles.empty() ? "" : ",") + role;
    }
    std::printf("sha256:%s %s %s\n", hex_of({reinterpret_cast<const char*>(hash.data()), hash.size()}).c_str(),
                roles.empty() ? "read" : roles.c_str(), options.name.c_str());
    std::fprintf(stderr, "token: %s (stays with its owner; the printed line goes into the file of --http-tokens)\n",
                 path.c_str());
    return Done{};
}

constexpr std::string_view kRawFileEnding = ".raw";

// The keys for a target without files (target-collector/curve/curve_client.h).
Result<std::string> raw_keys_of(const KeygenOptions& options, const SecretKey& key) {
    const auto gateway = PERFLEET_TRY(load_public_key("--raw", options.raw_gateway));
    const auto secret = decode_public_key(key.secret_text);
    std::string raw;
    for (const PublicKey& part : {gateway, secret.value_or(PublicKey{})}) {
        raw.append(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
    }
    return raw;
}

Result<Done> keygen(const KeygenOptions& options) {
    if (!is_peer_name(options.name)) {
        return Error{ErrorCode::kUsage, "'" + options.name +
                                            "' is no name for a key; 1 to 200 bytes without spaces and '/', not "
                                            "beginning with '.' or '-'"};
    }
    if (options.is_token) {
        return make_token_file(options);
    }
    auto key = PERFLEET_TRY(make_secret_key(options.name));
    const auto public_text = PERFLEET_TRY(public_text_of(options, key));
    const auto raw = options.raw_gateway.empty() ? Result<std::string>{std::string{}} : raw_keys_of(options, key);
    if (!raw.ok()) {
        return raw.error();
    }
    const std::string stem = (std::filesystem::path{options.folder} / options.name).string();
    const std::string secret_path = stem + std::string{kSecretFileEnding};
    const std::string public_path = stem + std::string{kPublicFileEnding};
    PERFLEET_TRY(write_new_file(secret_path, format_secret_key(key), kSecretMode));
    if (auto written = write_new_file(public_path, public_text, kPublicMode); !written) {
        ::unlink(secret_path.c_str());
        return written;
    }
    if (const std::string raw_path = stem + std::string{kRawFileEnding}; !raw->empty()) {
        if (auto written = write_new_file(raw_path, *raw, kSecretMode); !written) {
            ::unlink(secret_path.c_str());
            ::unlink(public_path.c_str());
            return written;
        }
        std::fprintf(stderr, "raw keys: %s (for the target alone: never into its ELF file, which queries read)\n",
                     raw_path.c_str());
    }
    const bool is_on_one_screen = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
    if (!is_on_one_screen) {
        std::printf("%s\n%s\n", secret_path.c_str(), public_path.c_str());
    }
    std::fprintf(
        stderr,
        "secret key: %s (stays here, for --key)\n"
        "public key: %s (copy it into the gateway's --collectors or --query-clients folder; of a gateway: to its "
        "collectors, for --gateway-key)\n",
        secret_path.c_str(), public_path.c_str());
    return Done{};
}

constexpr const char* kKeygenFooter =
    "Writes NAME.key (secret; only its owner may read it) and NAME.pub, and prints their paths. Never overwrites.\n\n"
    "A gateway that other machines reach:\n"
    "  perfleet keygen gateway                          # on the gateway; gateway.pub goes to every collector\n"
    "  perfleet keygen board-7 --label rack=r12         # on the target; board-7.pub goes into ./collectors there\n"
    "  perfleet-gateway --data ./store --listen tcp://0.0.0.0:7411 --key gateway.key --collectors ./collectors\n"
    "  perfleet-collector --gateway tcp://GATEWAY:7411 --key board-7.key --gateway-key gateway.pub -a -g\n\n"
    "A token for HTTP, in NAME.token; its hash, roles and name are printed:\n"
    "  perfleet keygen --token grafana >> tokens        # may read\n"
    "  perfleet keygen --token --role push ci >> tokens\n\n"
    "Name and labels of a target are those of its file in the gateway's folder. Removing the\n"
    "file disconnects the target.";

}  // namespace

void add_keygen_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<KeygenOptions>(
        app, invocation, "keygen", "Make a key for a gateway, a target or a query client, or a token for HTTP", keygen);
    add_options(*command,
                {{"name NAME", options->name, "Name of the target, and of the files", is_required},
                 {"--label KEY=VALUE", options->labels, "A label of the target, several times for several", is_label},
                 {"--raw GATEWAY.pub", options->raw_gateway,
                  "Also NAME.raw, for a target without files: 64 bytes, this gateway's public key and the secret one",
                  excludes({"--token"})},
                 {"--token", options->is_token, "Make a bearer token for --http-tokens instead of a key",
                  excludes({"--label"})},
                 {"--role ROLE[,ROLE]", options->roles, "Of a token: read, push or both. Default: read", is_comma_list,
                  is_one_of({"read", "push"}), needs("--token")},
                 {"--out DIR", options->folder, "Folder of the files", is_not_empty, shows_default}});
    command->footer(kKeygenFooter);
}

}  // namespace perfleet
