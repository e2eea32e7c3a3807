#include "gateway/ingest/credit_accounts.h"

#include <algorithm>

#include "schemas/wire/delivery_limits.h"

namespace perfleet {

void CreditAccounts::learn(CreditAccount& account, std::size_t size_bytes, std::uint64_t now_ns) {
    // Grows at once, and shrinks slowly.
    const std::uint64_t known = account.batch_size_bytes - account.batch_size_bytes / 8;
    account.batch_size_bytes = std::max<std::uint64_t>({known, size_bytes, 1});
    account.used_ns = now_ns;
}

std::uint64_t CreditAccounts::most_for(const CreditAccount& account) const {
    const std::uint64_t others = promised_bytes_ - account.promised_bytes;
    const std::uint64_t left = budget_bytes_ - others;
    const std::uint64_t for_window = others < windows_bytes() ? windows_bytes() - others : 0;
    return std::min(left, std::max(for_window / 2, account.batch_size_bytes));
}

void CreditAccounts::count(CreditAccount& account, std::uint64_t promised_bytes) {
    // If batches are larger than estimated, promises may exceed the share; those batches are on their way already.
    const std::uint64_t counted = std::min(promised_bytes, std::max(account.promised_bytes, most_for(account)));
    promised_bytes_ = promised_bytes_ - account.promised_bytes + counted;
    account.promised_bytes = counted;
}

void CreditAccounts::recount(CreditAccount& account, Seq prefix, Seq limit) {
    const Seq counted_from = std::max(prefix, account.written_off);
    const std::uint64_t open_count = limit > counted_from ? limit.value - counted_from.value : 0;
    count(account, open_count * account.batch_size_bytes);
}

Seq CreditAccounts::raise(CreditAccount& account, Seq prefix, Seq limit, std::size_t peer_count, std::uint64_t now_ns) {
    recount(account, prefix, limit);
    const std::uint64_t share = windows_bytes() / std::max<std::size_t>(peer_count, 1) / account.batch_size_bytes;
    const std::uint64_t window = std::clamp<std::uint64_t>(share, 1, limits::kSendWindowBatches);
    const Seq wanted{prefix.value > ~0ULL - window ? ~0ULL : prefix.value + window};
    const Seq from = std::max(prefix, limit);
    if (wanted <= from) {
        return limit;
    }
    const std::uint64_t most = most_for(account);
    const std::uint64_t affordable =
        most > account.promised_bytes ? (most - account.promised_bytes) / account.batch_size_bytes : 0;
    const std::uint64_t granted = std::min(wanted.value - from.value, affordable);
    if (granted == 0) {
        return limit;
    }
    count(account, account.promised_bytes + granted * account.batch_size_bytes);
    account.used_ns = now_ns;
    return Seq{from.value + granted};
}

void CreditAccounts::close(CreditAccount& account, Seq limit) {
    count(account, 0);
    account.written_off = std::max(account.written_off, limit);
    account.is_waiting = false;
}

void CreditAccounts::write_off(CreditAccount& account, Seq limit, std::uint64_t now_ns) {
    if (account.promised_bytes > 0 && now_ns - account.used_ns >= intake_limits::kCreditHoldNs) {
        count(account, 0);
        account.written_off = std::max(account.written_off, limit);
    }
}

}  // namespace perfleet
