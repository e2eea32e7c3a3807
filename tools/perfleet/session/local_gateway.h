// The gateway of a data folder for all processes on this machine that record into it. One process at a time writes to a
// store, and serves the others over a socket in the folder (schemas/peers/local_socket.h): a perfleet-gateway, or one
// of the recorders. When it ends or is killed, another recorder takes over.
//
// Owns a thread. Acknowledged batches are durable; recorders send others again.
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
    // Opens the store if no other process has it. `log` is called from any thread. Errors: those of the store, and of
    // the socket.
    [[nodiscard]] static Result<std::unique_ptr<LocalGateway>> open(std::string folder, LogSink log);
    LocalGateway(const LocalGateway&) = delete;
    LocalGateway& operator=(const LocalGateway&) = delete;
    ~LocalGateway();

    // Serves on a thread of its own, and takes over when the process that has the store ends.
    void start();

    // Commits, acknowledges and closes the store. Returns the error if this process could not write to it.
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

// The folder, below the data folder, for rows of `record` that could not be stored in time.
[[nodiscard]] std::string unstored_folder(const std::string& data_folder);

}  // namespace perfleet
