#include "daemon/log/rate_limit.h"

#include <algorithm>

namespace perfleet {
namespace {

constexpr std::string_view kOtherKinds = "other";
constexpr std::size_t kKindSizeBytesMax = 48;

}  // namespace

void RateLimit::refill(Kind& kind, std::uint64_t now_ns) {
    const std::uint64_t periods = now_ns > kind.refilled_ns ? (now_ns - kind.refilled_ns) / kEveryNs : 0;
    if (periods > 0) {
        kind.may_write = std::min(kAtOnceMax, kind.may_write + std::min(periods, kAtOnceMax));
        kind.refilled_ns += periods * kEveryNs;
    }
}

RateLimit::Verdict RateLimit::ask(std::string_view kind, std::uint64_t now_ns) {
    auto found = kinds_.find(kind);
    if (found == kinds_.end()) {
        if (kinds_.size() >= kKindsMax) {
            kind = kOtherKinds;
        }
        found = kinds_.try_emplace(std::string{kind}, Kind{.refilled_ns = now_ns}).first;
    }
    Kind& entry = found->second;
    refill(entry, now_ns);
    if (entry.may_write == 0) {
        ++entry.suppressed;
        ++suppressed_count_;
        return {};
    }
    --entry.may_write;
    return {true, std::exchange(entry.suppressed, 0)};
}

std::vector<std::pair<std::string, std::uint64_t>> RateLimit::take_suppressed(std::uint64_t now_ns) {
    std::vector<std::pair<std::string, std::uint64_t>> taken;
    for (auto& [name, kind] : kinds_) {
        refill(kind, now_ns);
        if (kind.suppressed > 0 && kind.may_write > 0) {
            --kind.may_write;
            taken.emplace_back(name, std::exchange(kind.suppressed, 0));
        }
    }
    return taken;
}

std::vector<std::pair<std::string, std::uint64_t>> RateLimit::take_all_suppressed() {
    std::vector<std::pair<std::string, std::uint64_t>> taken;
    for (auto& [name, kind] : kinds_) {
        if (kind.suppressed > 0) {
            taken.emplace_back(name, std::exchange(kind.suppressed, 0));
        }
    }
    return taken;
}

std::string_view kind_of_text(std::string_view text) {
    std::string_view kind = text.substr(0, std::min(text.find_first_of("0123456789'\""), kKindSizeBytesMax));
    const std::size_t end = kind.find_last_not_of(' ');
    kind = kind.substr(0, end == std::string_view::npos ? 0 : end + 1);
    return kind.empty() ? kOtherKinds : kind;
}

}  // namespace perfleet
