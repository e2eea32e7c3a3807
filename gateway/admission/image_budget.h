// Limits what checking images costs: unpacked bytes and CPU time per owner, refilled over time. An owner whose budget
// is used up isn't asked for images until it has refilled.
//
// An owner is the target of a peer's key, or without keys its connection. The cost is known only after a check, so a
// budget may go below zero by the cost of the checks that were running. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schemas/peers/text_map.h"

namespace perfleet {

struct ImageCost {
    std::uint64_t unpacked_bytes = 0;
    std::uint64_t cpu_ns = 0;
};

class ImageBudget {
public:
    // Whether one more image of the owner may be fetched and checked now.
    [[nodiscard]] bool has_some(std::string_view owner, std::uint64_t now_ns);
    [[nodiscard]] bool is_checking(std::string_view owner) const;

    void begin_check(std::string_view owner, std::uint64_t now_ns);
    // Ends a check that begin_check() began, and charges its cost.
    void end_check(std::string_view owner, const ImageCost& cost, std::uint64_t now_ns);

    // Forgets owners whose budgets are full. Call it from time to time.
    void forget_idle(std::uint64_t now_ns);

    [[nodiscard]] std::size_t checks_now() const { return check_count_; }

private:
    struct Account {
        std::int64_t bytes = 0;
        std::int64_t cpu_ns = 0;
        std::uint64_t refilled_ns = 0;
        std::uint32_t check_count = 0;  // running
    };

    static void refill(Account& account, std::uint64_t now_ns);
    [[nodiscard]] static bool is_full(const Account& account);

    TextMap<Account> accounts_;
    std::size_t check_count_ = 0;
};

}  // namespace perfleet
