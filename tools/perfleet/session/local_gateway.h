// The gateway of a data folder for everything on this machine that records into it. One process at a time can write to
// a store, and serves the others over a socket in the folder (schemas/peers/local_socket.h): a perfleet-gateway, or any
// one of the recorders. When it ends or is killed, another recorder takes its place.
//
// A resource with a thread. What others have been promised is durable; what they haven't they send again.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "gateway/gateway.h"
#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "storage/store/store.h"

namespace perfleet {

class LocalGateway {
public:
    // Opens the store if nobody else has it. `log` is called from any thread. Errors: those
    // of the store, and of the socket.
    [[nodiscard]] static Result<std::unique_ptr<LocalGateway>> open(std::string folder, LogSink log);
    LocalGateway(const LocalGateway&) = delete;
    LocalGateway& operator=(const LocalGateway&) = delete;
    ~LocalGateway();

    // Serves on a thread of its own, and takes the place of who has the store when that ends.
    void start();

    // Commits, acknowledges and closes the store. Why it could not be written to while this had it, if so.
    [[nodiscard]] std::optional<Error> stop();

private:
    LocalGateway(std::string folder, LogSink log);
    [[nodiscard]] Result<Done> try_to_open();
    void run();
    void serve();
    void wait() const;

    std::string folder_;
    LogSink log_;
    std::unique_ptr<Store> store_;      // null: another process has it
    std::unique_ptr<Gateway> gateway_;  // with store_
    std::optional<Error> error_;        // the last one
    std::atomic<bool> stop_{false};
    WakeEvent stop_event_;
    std::thread thread_;
};

// Where `record` writes what nobody could store in time: a folder below the data folder.
[[nodiscard]] std::string unstored_folder(const std::string& data_folder);

}  // namespace perfleet
