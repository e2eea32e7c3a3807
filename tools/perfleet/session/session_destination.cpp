#include "tools/perfleet/session/session_destination.h"

#include <utility>

#include "daemon/option/program_options.h"
#include "schemas/peers/local_socket.h"
#include "storage/store/open_engine.h"
#include "storage/store/open_store.h"
#include "target-collector/upload/gateway_destination.h"
#include "tools/perfleet/import/session/import_limits.h"
#include "tools/perfleet/import/session/stored_session_writer.h"
#include "tools/perfleet/session/local_gateway.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

void print_event(const LogEvent& event) {
    if (event.level() <= LogLevel::kWarning) {
        print_warning(std::string{event.text()});
    }
}

// Stores through the process that writes to the store: this one if no other does any more.
class SharedDestination final : public GatewayDestination {
public:
    SharedDestination(GatewayLink::Peer peer, LocalSocket socket, std::unique_ptr<LocalGateway> gateway)
        : GatewayDestination{std::move(peer), print_event}, socket_{std::move(socket)}, gateway_{std::move(gateway)} {
        gateway_->start();
    }

private:
    LocalSocket socket_;  // the path of the endpoint may lead through it
    std::unique_ptr<LocalGateway> gateway_;
};

class OwnDestination final : public SessionDestination {
public:
    explicit OwnDestination(std::unique_ptr<Store> store) : store_{std::move(store)}, destination_{*store_} {}
    ~OwnDestination() override { (void)store_->write_out_log(); }  // else the next query replays it

    Result<std::unique_ptr<SessionWriter>> begin(SessionRecord record, UtcNs now) override {
        return destination_.begin(std::move(record), now);
    }
    Result<bool> has_ended(TargetId target, SessionId session) const override {
        return destination_.has_ended(target, session);
    }
    void defer_sync() override { destination_.defer_sync(); }
    Result<Done> sync() override { return destination_.sync(); }

private:
    std::unique_ptr<Store> store_;
    StoreDestination destination_;
};

}  // namespace

Result<std::unique_ptr<SessionDestination>> connect_destination(GatewayLink::Peer peer) {
    return GatewayDestination::connect(std::move(peer), print_event);
}

Result<std::unique_ptr<SessionDestination>> open_destination(const std::string& data) {
    PERFLEET_TRY(writable_data_folder_of(data));
    auto store = open_store(data, {.memory_size_bytes = kImportStoreMemorySizeBytes});
    if (store.ok()) {
        return std::unique_ptr<SessionDestination>{std::make_unique<OwnDestination>(std::move(*store))};
    }
    if (store.error().code != ErrorCode::kBusy || !is_folder(data)) {
        return Error{store.error()};
    }
    auto gateway = PERFLEET_TRY(LocalGateway::open(data, print_event));
    auto socket = PERFLEET_TRY(LocalSocket::in(data, kGatewaySocketName));
    GatewayLink::Peer peer{{socket.endpoint()}, "the process that writes to " + data, {}};
    return std::unique_ptr<SessionDestination>{
        std::make_unique<SharedDestination>(std::move(peer), std::move(socket), std::move(gateway))};
}

std::vector<OptionRow> destination_rows(std::string& data, GatewayChoice& gateway) {
    std::vector<OptionRow> rows = gateway_rows(gateway);
    rows.push_back(data_row(data, excludes({"--gateway"})));
    return rows;
}

}  // namespace perfleet
