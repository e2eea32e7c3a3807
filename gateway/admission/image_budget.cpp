#include "gateway/admission/image_budget.h"

#include <algorithm>

#include "gateway/admission/intake_limits.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

using namespace intake_limits;

constexpr std::uint64_t kSecondNs = 1'000'000'000;
// In this time both budgets refill completely, whatever a check has cost.
constexpr std::uint64_t kRefillNsMax = 3'600 * kSecondNs;

}  // namespace

void ImageBudget::refill(Account& account, std::uint64_t now_ns) {
    const std::uint64_t passed_ns = std::min(now_ns - std::min(now_ns, account.refilled_ns), kRefillNsMax);
    const auto grown = [&](std::int64_t now, std::uint64_t a_second, std::uint64_t max) {
        const auto more = static_cast<std::int64_t>(passed_ns / 1'000 * (a_second / 1'000) / 1'000);
        return std::min(now + more, static_cast<std::int64_t>(max));
    };
    account.bytes = grown(account.bytes, kImageUnpackedBytesASecond, kImageUnpackedBytesMax);
    account.cpu_ns = grown(account.cpu_ns, kImageCpuNsASecond, kImageCpuNsMax);
    account.refilled_ns = now_ns;
}

bool ImageBudget::is_full(const Account& account) {
    return account.check_count == 0 && account.bytes == static_cast<std::int64_t>(kImageUnpackedBytesMax) &&
           account.cpu_ns == static_cast<std::int64_t>(kImageCpuNsMax);
}

bool ImageBudget::has_some(std::string_view owner, std::uint64_t now_ns) {
    const auto found = accounts_.find(owner);
    if (found == accounts_.end()) {
        return accounts_.size() < kImageOwnersMax;
    }
    Account& account = found->second;
    refill(account, now_ns);
    return account.check_count < kImageChecksOfOwnerMax && account.bytes > 0 && account.cpu_ns > 0;
}

bool ImageBudget::is_checking(std::string_view owner) const {
    const auto found = accounts_.find(owner);
    return found != accounts_.end() && found->second.check_count > 0;
}

void ImageBudget::begin_check(std::string_view owner, std::uint64_t now_ns) {
    auto found = accounts_.find(owner);
    if (found == accounts_.end()) {
        found = accounts_
                    .emplace(owner, Account{static_cast<std::int64_t>(kImageUnpackedBytesMax),
                                            static_cast<std::int64_t>(kImageCpuNsMax), now_ns, 0})
                    .first;
    }
    ++found->second.check_count;
    ++check_count_;
}

void ImageBudget::end_check(std::string_view owner, const ImageCost& cost, std::uint64_t now_ns) {
    const auto found = accounts_.find(owner);
    PERFLEET_ASSERT(found != accounts_.end() && found->second.check_count > 0);
    Account& account = found->second;
    refill(account, now_ns);
    account.bytes -= static_cast<std::int64_t>(cost.unpacked_bytes);
    account.cpu_ns -= static_cast<std::int64_t>(cost.cpu_ns);
    --account.check_count;
    --check_count_;
}

void ImageBudget::forget_idle(std::uint64_t now_ns) {
    std::erase_if(accounts_, [&](const auto& one) {
        Account account = one.second;
        refill(account, now_ns);
        return is_full(account);
    });
}

}  // namespace perfleet
