#include <fmt/format.h>

#include <random>
#include <set>
#include <utility>

#include "storage/engine/rados/gateway_table.h"
#include "storage/engine/rados/rados_engine.h"

namespace perfleet {
namespace {

class RadosRequestBox final : public RequestBox {
public:
    explicit RadosRequestBox(std::unique_ptr<RadosPool> pool) : pool_{std::move(pool)} {}

    [[nodiscard]] Result<std::vector<std::string>> post(std::span<const Request> requests) override {
        const auto table = PERFLEET_TRY(read_gateway_table(*pool_));
        if (table.gateways.empty()) {
            return Error{ErrorCode::kNotFound, "no gateway serves " + pool_->where() + " now"};
        }
        if (table.requests.size() + requests.size() > kRequestsMax) {
            return Error{ErrorCode::kBusy, pool_->where() + ": " + std::to_string(table.requests.size()) +
                                               " control requests wait for gateways already"};
        }
        GatewayTableChange change;
        std::vector<std::string> ids;
        for (const Request& request : requests) {
            std::random_device random;
            ids.push_back(fmt::format("{:08x}{:08x}", random(), random()));
            change.requests.push_back({ids.back(), request.shard, utc_now_s(), request.text});
        }
        PERFLEET_TRY(change_gateway_table(*pool_, change));
        waiting_.insert(ids.begin(), ids.end());
        return ids;
    }

    [[nodiscard]] Result<std::map<std::string, std::string>> take_answers() override {
        auto table = PERFLEET_TRY(read_gateway_table(*pool_));
        std::map<std::string, std::string> answers;
        GatewayTableChange change;
        for (OperatorEntry& answer : table.answers) {
            if (waiting_.erase(answer.id) != 0) {
                change.removed_answers.push_back(answer.id);
                answers.emplace(std::move(answer.id), std::move(answer.text));
            }
        }
        if (!answers.empty()) {
            (void)change_gateway_table(*pool_, change);  // if it fails, a gateway removes it later
        }
        return answers;
    }

    [[nodiscard]] Result<Done> withdraw() override {
        GatewayTableChange change;
        change.removed_requests.assign(waiting_.begin(), waiting_.end());
        waiting_.clear();
        return change.removed_requests.empty() ? Result<Done>{Done{}} : change_gateway_table(*pool_, change);
    }

private:
    std::unique_ptr<RadosPool> pool_;
    std::set<std::string> waiting_;
};

}  // namespace

Result<std::unique_ptr<RequestBox>> open_rados_request_box(const RadosPlace& place) {
    auto pool = PERFLEET_TRY(RadosPool::connect(place));
    return Result<std::unique_ptr<RequestBox>>{std::make_unique<RadosRequestBox>(std::move(pool))};
}

}  // namespace perfleet
