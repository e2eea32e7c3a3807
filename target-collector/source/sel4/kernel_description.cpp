#include "target-collector/source/sel4/kernel_description.h"

#include <algorithm>
#include <initializer_list>

namespace perfleet::sel4 {
namespace {

class Digits {
public:
    explicit Digits(std::uint64_t number) {
        do {
            digits_[--at_] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
    }
    [[nodiscard]] std::string_view text() const { return {digits_.data() + at_, digits_.size() - at_}; }

private:
    std::array<char, 20> digits_{};
    std::size_t at_ = digits_.size();
};

// All versions before 14 number their paths equally.
constexpr std::string_view kSomeOldVersion = "13";

}  // namespace

KernelDescription::KernelDescription(const KernelFeatures& features, const EventFacts& facts) {
    add("sel4", "1");
    if (!features.architecture_name.empty()) {
        add("arch", features.architecture_name);
    }
    if (!features.version.empty()) {
        add("version", features.version);
    } else if (features.numbering == PathNumbering::kBefore14) {
        add("version", kSomeOldVersion);
    }
    if (features.is_mcs) {
        add("mcs");
    }
    if (facts.tracepoint_id) {
        add("tracepoint", Digits{*facts.tracepoint_id}.text());
    }
    if (facts.is_running_unknown) {
        add("running", "unknown");
    }
}

void KernelDescription::add(std::string_view key, std::string_view value) {
    const std::size_t size = key.size() + (value.empty() ? 0 : 1 + value.size()) + 1;
    if (size > text_.size() - size_bytes_) {
        return;
    }
    const auto put = [&](std::string_view part) {
        std::ranges::copy(part, text_.data() + size_bytes_);
        size_bytes_ += part.size();
    };
    put(key);
    put(value.empty() ? "" : " ");
    put(value);
    put("\n");
}

}  // namespace perfleet::sel4
