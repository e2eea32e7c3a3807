#include "schemas/peers/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"
#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr std::string_view kName = "name";
constexpr std::string_view kPublicKey = "public-key";
constexpr std::string_view kSecretKey = "secret-key";
constexpr std::string_view kLabelPrefix = "label.";

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t";
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool is_control(char letter) { return static_cast<unsigned char>(letter) < ' ' || letter == 0x7f; }

// The fields of public and secret key files.
struct Entries {
    std::optional<std::string> name;
    std::optional<PublicKey> public_key;
    std::optional<std::string> public_text;
    std::optional<std::string> secret_text;
    std::vector<std::pair<std::string, std::string>> labels;
};

class LineReader {
public:
    LineReader(std::string_view text, const std::string& place) : text_{text}, place_{place} {}

    Result<Entries> read() {
        if (text_.size() > kKeyFileSizeBytesMax) {
            return Error{ErrorCode::kTooLarge, place_ + ": " + std::to_string(text_.size()) +
                                                   " bytes are no key file; at most " +
                                                   std::to_string(kKeyFileSizeBytesMax) + " are allowed"};
        }
        Entries entries;
        while (!text_.empty()) {
            ++line_;
            const std::string_view line = trimmed(take_part(text_, '\n'));
            if (line.empty() || line.front() == '#') {
                continue;
            }
            PERFLEET_TRY(take(line, entries));
        }
        return entries;
    }

    [[nodiscard]] Error missing(std::string_view key) const {
        return Error{ErrorCode::kInvalid, place_ + ": there is no line '" + std::string{key} + " = ...'"};
    }

private:
    [[nodiscard]] Error wrong(std::string what, ErrorCode code = ErrorCode::kInvalid) const {
        return Error{code, place_ + ":" + std::to_string(line_) + ": " + std::move(what)};
    }

    Result<Done> take(std::string_view line, Entries& entries) {
        if (std::any_of(line.begin(), line.end(), is_control)) {
            return wrong("a control character (is this a text file with line feeds alone?)");
        }
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos) {
            return wrong("no '='; a line is KEY = VALUE, or begins with #");
        }
        const std::string_view key = trimmed(line.substr(0, equals));
        const std::string_view value = trimmed(line.substr(equals + 1));
        if (key == kName) {
            return is_peer_name(value) ? set(entries.name, key, std::string{value})
                                       : wrong("'" + std::string{value.substr(0, 64)} +
                                               "' is no name; 1 to 200 bytes without spaces and '/', not beginning "
                                               "with '.' or '-'");
        }
        if (key == kPublicKey || key == kSecretKey) {
            return take_key(key, value, entries);
        }
        if (key.starts_with(kLabelPrefix)) {
            return take_label(key.substr(kLabelPrefix.size()), value, entries);
        }
        return wrong("unknown key '" + std::string{key.substr(0, 64)} +
                     "'; there are name, public-key, secret-key and label.KEY");
    }

    Result<Done> take_key(std::string_view key, std::string_view value, Entries& entries) {
        const auto decoded = decode_public_key(value);
        if (!decoded.has_value()) {
            // Doesn't print the value: it may be a mistyped secret.
            return wrong("the " + std::string{key} + " is not 40 characters of Z85; copy the line whole");
        }
        if (key == kSecretKey) {
            return set(entries.secret_text, key, std::string{value});
        }
        entries.public_key = *decoded;
        return set(entries.public_text, key, std::string{value});
    }

    Result<Done> take_label(std::string_view key, std::string_view value, Entries& entries) {
        if (key.empty() || key.size() > limits::kLabelSizeBytesMax || value.size() > limits::kLabelSizeBytesMax) {
            return wrong("a label's key and value have at most " + std::to_string(limits::kLabelSizeBytesMax) +
                             " bytes, its key at least one",
                         ErrorCode::kTooLarge);
        }
        const bool is_there = std::any_of(entries.labels.begin(), entries.labels.end(),
                                          [&](const auto& label) { return label.first == key; });
        if (is_there) {
            return wrong("the label '" + std::string{key} + "' stands twice");
        }
        if (entries.labels.size() == limits::kLabelsMax) {
            return wrong("more than " + std::to_string(limits::kLabelsMax) + " labels", ErrorCode::kTooLarge);
        }
        entries.labels.emplace_back(key, value);
        return Done{};
    }

    Result<Done> set(std::optional<std::string>& entry, std::string_view key, std::string value) {
        if (entry.has_value()) {
            return wrong("'" + std::string{key} + "' stands twice");
        }
        entry = std::move(value);
        return Done{};
    }

    std::string_view text_;
    const std::string& place_;
    std::size_t line_ = 0;
};

// True for files in the credentials folder that systemd makes for a service, and that others can't enter. systemd
// grants access by an ACL, whose mask looks like permissions of the group, although the group has none.
bool is_lent_credential(const std::string& path) {
    const char* const named = std::getenv("CREDENTIALS_DIRECTORY");
    if (named == nullptr || *named != '/') {
        return false;
    }
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::canonical(named, error);
    const std::filesystem::path parent = error ? folder : std::filesystem::canonical(path, error).parent_path();
    struct stat status {};
    return !error && parent == folder && ::stat(folder.c_str(), &status) == 0 &&
           (status.st_mode & (S_IWGRP | S_IRWXO)) == 0;
}

Result<std::string> read_checked(const std::string& path, mode_t forbidden_mode) {
    // Doesn't block on a named pipe.
    const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        return error_from_errno(errno, path);
    }
    if (!S_ISREG(status.st_mode)) {
        return Error{ErrorCode::kInvalid, path + ": not a regular file"};
    }
    if ((status.st_mode & forbidden_mode) != 0) {
        return Error{ErrorCode::kPermission, path + ": others can read or write this secret key; chmod 600 " + path +
                                                 " (and make a new key if they may have done so)"};
    }
    auto text = read_rest(file.get(), kKeyFileSizeBytesMax);
    if (!text) {
        return error_from_errno(errno, path);
    }
    if (text->size() > kKeyFileSizeBytesMax) {
        return Error{ErrorCode::kTooLarge,
                     path + ": more than " + std::to_string(kKeyFileSizeBytesMax) + " bytes are no key file"};
    }
    return std::move(*text);
}

}  // namespace

TargetId target_id_of(std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char byte : name) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
    }
    return TargetId{hash};
}

bool is_peer_name(std::string_view name) {
    return !name.empty() && name.size() <= kPeerNameSizeBytesMax && name.front() != '.' && name.front() != '-' &&
           std::none_of(name.begin(), name.end(),
                        [](char letter) { return is_control(letter) || letter == ' ' || letter == '/'; });
}

Result<Enrolment> parse_enrolment(std::string_view text, const std::string& place) {
    LineReader reader{text, place};
    auto entries = PERFLEET_TRY(reader.read());
    if (entries.secret_text.has_value()) {
        return Error{ErrorCode::kInvalid,
                     place +
                         ": a secret key is in it; only the public file (NAME.pub) leaves the machine where it "
                         "was made. Make a new key: this one may have been read on its way"};
    }
    if (!entries.name.has_value()) {
        return reader.missing(kName);
    }
    if (!entries.public_key.has_value()) {
        return reader.missing(kPublicKey);
    }
    std::sort(entries.labels.begin(), entries.labels.end());
    const TargetId target = target_id_of(*entries.name);
    return Enrolment{std::move(*entries.name), target, *entries.public_key, std::move(entries.labels)};
}

Result<SecretKey> parse_secret_key(std::string_view text, const std::string& place) {
    LineReader reader{text, place};
    auto entries = PERFLEET_TRY(reader.read());
    if (!entries.secret_text.has_value()) {
        return Error{ErrorCode::kInvalid,
                     place + ": there is no line 'secret-key = ...'; is this the public file of the key?"};
    }
    if (!entries.name.has_value()) {
        return reader.missing(kName);
    }
    if (!entries.public_text.has_value()) {
        return reader.missing(kPublicKey);
    }
    if (!entries.labels.empty()) {
        return Error{ErrorCode::kInvalid, place + ": labels belong into the public file, which the gateway reads"};
    }
    return SecretKey{std::move(*entries.name), std::move(*entries.public_text), std::move(*entries.secret_text)};
}

std::string format_enrolment(const Enrolment& enrolment) {
    std::string text = "# A perfleet public key. In an allow-list folder it admits its owner.\n";
    text += "name = " + enrolment.name + "\n";
    text += "public-key = " + encode_public_key(enrolment.key) + "\n";
    for (const auto& [key, value] : enrolment.labels) {
        text += "label." + key + " = " + value + "\n";
    }
    return text;
}

std::string format_secret_key(const SecretKey& key) {
    return "# A perfleet secret key. It stays on the machine that uses it; nobody else may read it.\nname = " +
           key.name + "\npublic-key = " + key.public_text + "\nsecret-key = " + key.secret_text + "\n";
}

Result<std::string> read_key_file(const std::string& path) { return read_checked(path, 0); }

Result<SecretKey> load_secret_key(const std::string& path) {
    const mode_t group_mode = is_lent_credential(path) ? S_IRWXG & ~S_IRGRP : S_IRWXG;
    auto text = PERFLEET_TRY(read_checked(path, group_mode | S_IRWXO));
    return parse_secret_key(text, path);
}

Result<PublicKey> load_public_key(std::string_view option, const std::string& file_or_text) {
    const auto decoded = decode_public_key(file_or_text);
    auto text = read_key_file(file_or_text);
    if (!text) {
        if (decoded.has_value()) {
            return *decoded;
        }
        return Error{text.error().code, std::string{option} + " " + text.error().message +
                                            " (give a public key's file, or its 40 characters)"};
    }
    auto enrolment = parse_enrolment(*text, file_or_text);
    if (!enrolment) {
        return Error{enrolment.error().code, std::string{option} + " " + enrolment.error().message};
    }
    return enrolment->key;
}

Result<std::optional<ConnectKeys>> load_connect_keys(const std::string& key_file, const std::string& gateway_key) {
    if (key_file.empty() && gateway_key.empty()) {
        return std::optional<ConnectKeys>{};
    }
    if (key_file.empty() || gateway_key.empty()) {
        return Error{
            ErrorCode::kUsage,
            "--key FILE and --gateway-key KEY go together: one's own secret key, and the gateway's public key, "
            "which authenticates it"};
    }
    auto own = load_secret_key(key_file);
    if (!own) {
        return Error{ErrorCode::kUsage, "--key " + own.error().message};
    }
    const auto server = load_public_key("--gateway-key", gateway_key);
    if (!server) {
        return Error{ErrorCode::kUsage, server.error().message};
    }
    return std::optional<ConnectKeys>{ConnectKeys{std::move(*own), *server}};
}

}  // namespace perfleet
