#include "tools/perfleet/session/local_gateway.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "schemas/host/host_clock.h"
#include "schemas/host/wake_event.h"
#include "schemas/text/layout.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/store/open_store.h"
#include "tools/perfleet/import/frame_import.h"

namespace perfleet {
namespace {

constexpr int kRetryMs = 50;               // costs a few microseconds
constexpr int kRetryAfterErrorMs = 1'000;  // opening a store costs more
constexpr const char* kUnstoredEnding = ".frames";

std::vector<std::string> unstored_files(const std::string& data_folder) {
    std::vector<std::string> files;
    std::error_code error;
    const std::filesystem::directory_iterator end;
    for (std::filesystem::directory_iterator at{unstored_folder(data_folder), error}; !error && at != end;
         at.increment(error)) {
        if (at->path().extension() == kUnstoredEnding) {
            files.push_back(at->path().string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

// Stores what earlier recordings could not store.
void store_unstored(const std::string& data_folder, Store& store, const LogSink& log) {
    for (const std::string& file : unstored_files(data_folder)) {
        const auto imported = import_frames(file, std::nullopt, utc_now(), store);
        if (!imported.ok()) {
            log({LogLevel::kWarning, "store",
                 "can't store what an earlier recording left: " + imported.error().message});
            continue;
        }
        ::unlink(file.c_str());
        log({LogLevel::kNotice, "store",
             "stored " + counted_noun(imported->row_count, "row") + " that an earlier recording left in " + file});
    }
    ::rmdir(unstored_folder(data_folder).c_str());  // only if it is empty
}

}  // namespace

std::string unstored_folder(const std::string& data_folder) { return data_folder + "/unstored"; }

LocalGateway::LocalGateway(std::string folder, LogSink log) : folder_{std::move(folder)}, log_{std::move(log)} {}

LocalGateway::~LocalGateway() { (void)stop(); }

Result<std::unique_ptr<LocalGateway>> LocalGateway::open(std::string folder, LogSink log) {
    std::unique_ptr<LocalGateway> gateway{new LocalGateway{std::move(folder), std::move(log)}};
    if (!gateway->stop_event_) {
        return error_from_errno(errno, "eventfd");
    }
    PERFLEET_TRY(gateway->try_to_open());
    return gateway;
}

// Succeeds without opening the store if another process has it.
Result<Done> LocalGateway::try_to_open() {
    if (has_writer(folder_)) {
        return Done{};
    }
    auto store = open_store(folder_);
    if (!store.ok()) {
        return store.error().code == ErrorCode::kBusy ? Result<Done>{Done{}} : std::move(store).error();
    }
    GatewayOptions options;
    options.folder = folder_;
    options.log = log_;
    auto gateway = PERFLEET_TRY(Gateway::open(options, **store));
    store_ = std::move(*store);
    gateway_ = std::move(gateway);
    return Done{};
}

void LocalGateway::start() {
    thread_ = std::thread{[this] { run(); }};
}

std::optional<Error> LocalGateway::stop() {
    if (thread_.joinable()) {
        stop_ = true;
        stop_event_.signal();
        thread_.join();
    }
    gateway_.reset();
    store_.reset();
    return error_;
}

void LocalGateway::run() {
    while (!stop_.load(std::memory_order_acquire)) {
        if (store_ == nullptr) {
            const auto opened = try_to_open();
            if (!opened.ok() && (!error_.has_value() || error_->message != opened.error().message)) {
                log_({LogLevel::kWarning, "store", opened.error().message});
                error_ = opened.error();
            }
        }
        if (store_ == nullptr) {
            wait();
        } else {
            serve();
        }
    }
}

void LocalGateway::serve() {
    error_.reset();
    store_unstored(folder_, *store_, log_);
    if (const auto served = gateway_->serve(stop_, stop_event_.fd()); !served.ok()) {
        error_ = served.error();
    }
    gateway_.reset();
    (void)store_->write_out_log();  // else the next query replays it; a failure loses nothing
    store_.reset();
    if (!stop_.load(std::memory_order_acquire)) {
        wait();
    }
}

void LocalGateway::wait() const {
    pollfd stop{stop_event_.fd(), POLLIN, 0};
    ::poll(&stop, 1, error_.has_value() ? kRetryAfterErrorMs : kRetryMs);
}

}  // namespace perfleet
