#include "query-engine/select/cgroup_path.h"

#include <algorithm>
#include <optional>

namespace perfleet {
namespace {

constexpr std::size_t kContainerIdDigits = 64;
constexpr std::size_t kShortIdDigits = 12;

bool is_hexadecimal(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_container_id(std::string_view text) { return text.size() == kContainerIdDigits && is_hexadecimal(text); }

// The text between `front` and `back`, if it has both.
std::optional<std::string_view> between(std::string_view text, std::string_view front, std::string_view back) {
    if (text.size() <= front.size() + back.size() || !text.starts_with(front) || !text.ends_with(back)) {
        return std::nullopt;
    }
    return text.substr(front.size(), text.size() - front.size() - back.size());
}

std::vector<std::string_view> parts_of(std::string_view path) {
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (end > 0) {
            parts.push_back(path.substr(0, end));
        }
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return parts;
}

// systemd writes `-` within a name as `\x2d`.
std::string unescaped(std::string_view text) {
    std::string plain;
    while (!text.empty()) {
        const bool is_dash = text.starts_with("\\x2d");
        plain += is_dash ? '-' : text.front();
        text.remove_prefix(is_dash ? 4 : 1);
    }
    return plain;
}

// `above`: the part before it, empty where there is none.
std::string container_of(std::string_view part, std::string_view above) {
    // ID, docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID, SLICE:cri-containerd:ID
    const auto scope = between(part, "", ".scope");
    const std::string_view name = scope.value_or(part);
    const std::size_t id_at = name.find_last_of("-:") + 1;  // 0 where there is neither
    if (is_container_id(name.substr(id_at))) {
        // conmon monitors a container from outside: it isn't part of it.
        return name.substr(0, id_at).ends_with("conmon-") ? std::string{} : std::string{name.substr(id_at)};
    }
    if (scope) {
        const auto machine = between(*scope, "machine-", "");
        return above == "machine.slice" && machine ? unescaped(*machine) : std::string{};
    }
    if (const auto machine = between(part, "systemd-nspawn@", ".service")) {
        return unescaped(*machine);
    }
    if (const auto lxc = between(part, "lxc.payload.", "")) {
        return std::string{*lxc};
    }
    return above == "lxc" || above == "lxc.payload" ? std::string{part} : std::string{};
}

// A uid, or the hash of a static pod's description.
bool is_pod_uid(std::string_view text) {
    return text.size() >= 32 && text.size() <= 36 &&
           text.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

std::string pod_of(std::string_view part) {
    part = part.substr(0, part.find(':'));
    for (const std::string_view front : {"machine-libpod_pod_", "user-libpod_pod_", "libpod_pod_"}) {
        for (const std::string_view back : {".slice", ""}) {
            if (const auto id = between(part, front, back); id && is_container_id(*id)) {
                return std::string{*id};
            }
        }
    }
    std::string_view uid;
    if (const auto slice = between(part, "", ".slice")) {  // kubepods-burstable-podUID, kubepods-podUID
        const std::size_t at = slice->rfind("-pod");
        const bool is_kubernetes =
            at != std::string_view::npos && slice->substr(0, at).find("kubepods") != std::string_view::npos;
        uid = is_kubernetes ? slice->substr(at + 4) : std::string_view{};
    } else if (const auto plain = between(part, "pod", "")) {
        uid = *plain;
    }
    std::string text{uid};
    std::replace(text.begin(), text.end(), '_', '-');
    return is_pod_uid(text) ? text : std::string{};
}

bool is_unit(std::string_view part) { return between(part, "", ".service") || between(part, "", ".scope"); }

}  // namespace

CgroupOwner owner_of_cgroup(std::string_view path) {
    const std::vector<std::string_view> parts = parts_of(path);
    CgroupOwner owner;
    for (std::size_t i = parts.size(); i-- > 0;) {
        if (owner.container.empty()) {
            owner.container = container_of(parts[i], i > 0 ? parts[i - 1] : std::string_view{});
        }
        if (owner.pod.empty()) {
            owner.pod = pod_of(parts[i]);
        }
        // The init.scope of a service manager belongs to the unit above it.
        const bool is_managers = parts[i] == "init.scope" && i > 0 && is_unit(parts[i - 1]);
        if (owner.unit.empty() && is_unit(parts[i]) && !is_managers) {
            owner.unit = parts[i];
        }
    }
    return owner;
}

std::string_view short_container(std::string_view container) {
    return is_container_id(container) ? container.substr(0, kShortIdDigits) : container;
}

// On a mismatch only the last `*` is retried: the time is bounded by the product of both lengths.
bool matches_glob(std::string_view pattern, std::string_view text) {
    std::size_t at = 0;
    std::size_t star = std::string_view::npos;
    std::size_t star_text = 0;
    const auto is_escape = [pattern](std::size_t i) {
        return pattern[i] == '\\' && i + 1 < pattern.size() && (pattern[i + 1] == '*' || pattern[i + 1] == '?');
    };
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t literal = at < pattern.size() && is_escape(at) ? 1 : 0;
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            star_text = i;
        } else if (at < pattern.size() && (pattern[at + literal] == text[i] || (literal == 0 && pattern[at] == '?'))) {
            at += 1 + literal;
            ++i;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            i = ++star_text;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view text) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [text](const std::string& pattern) { return matches_glob(pattern, text); });
}

bool CgroupFilter::passes(std::string_view path) const {
    const CgroupOwner owner = owner_of_cgroup(path);
    const auto is_any = [](const std::vector<std::string>& patterns, auto matches) {
        return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), matches);
    };
    const auto has_id = [](const std::string& id) {
        return [&id](const std::string& pattern) {
            return !id.empty() && (matches_glob(pattern, id) || (is_container_id(id) && id.starts_with(pattern)));
        };
    };
    return is_any(cgroups,
                  [&](const std::string& pattern) {
                      const std::string absolute = pattern.starts_with('/') ? pattern : "/" + pattern;
                      for (std::size_t end = path.size(); end != std::string_view::npos && end > 0;
                           end = path.rfind('/', end - 1)) {
                          if (matches_glob(absolute, path.substr(0, end))) {
                              return true;
                          }
                      }
                      return absolute == "/";
                  }) &&
           is_any(containers, has_id(owner.container)) &&
           is_any(pods,
                  [&](const std::string& pattern) {
                      return !owner.pod.empty() && (matches_glob(pattern, owner.pod) || owner.pod.starts_with(pattern));
                  }) &&
           is_any(units, [&](const std::string& pattern) {
               const bool has_suffix = pattern.find_last_of("*.") != std::string::npos;
               const std::string unit = has_suffix ? pattern : pattern + ".service";
               const auto parts = parts_of(path);
               return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
                   return (is_unit(part) || part.ends_with(".slice")) && matches_glob(unit, part);
               });
           });
}

}  // namespace perfleet
