#include "target-collector/spool/orphan_session.h"

#include <span>

namespace perfleet {
namespace {

constexpr std::size_t kIdleRingSizeBytes = 4'096;

}  // namespace

Result<std::unique_ptr<OrphanSession>> OrphanSession::open(const std::string& path, NetworkDriver& driver) {
    auto file = PERFLEET_TRY(SpoolFile::open(path));
    auto reading = read_spool(file->bytes());
    if (!reading.ok()) {
        return error_from_fault(reading.error(), "spool file '" + path + "'");
    }
    return std::unique_ptr<OrphanSession>(new OrphanSession(std::move(file), std::move(*reading), driver));
}

OrphanSession::OrphanSession(std::unique_ptr<SpoolFile> file, std::unique_ptr<SpoolReading> reading,
                             NetworkDriver& driver)
    : file_{std::move(file)},
      reading_{std::move(reading)},
      hello_(reading_->hello.begin(), reading_->hello.end()),
      batches_memory_(kIdleRingSizeBytes / sizeof(std::uint64_t)),
      losses_memory_(kLossReportRingSizeBytes / sizeof(std::uint64_t)),
      batches_{std::as_writable_bytes(std::span{batches_memory_})},
      losses_{std::as_writable_bytes(std::span{losses_memory_})},
      journal_{file_->journal(), reading_->entry.number} {
    fill_spool_holes(*reading_, file_->records());
    Delivery::Options options;
    options.session = reading_->head.session;
    options.hello = hello_;
    options.spool = file_->records();
    options.journal = &journal_;
    options.orphan = &reading_->entry;
    options.final_counts = reading_->final_counts.entries();
    options.end_point = reading_->end_point;
    delivery_.emplace(options, driver, batches_, losses_);
}

std::string OrphanSession::name() const {
    const std::string file_name = spool_file_name(reading_->head.session);
    return "session " + file_name.substr(0, file_name.find('.')) + " of an earlier run";
}

}  // namespace perfleet
