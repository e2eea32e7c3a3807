// Stands in for the RADOS engine in builds without librados.
#include "storage/engine/rados/rados_engine.h"

namespace perfleet {
namespace {

Error unsupported(const RadosPlace& place) {
    return {ErrorCode::kUnsupported,
            place.text() + ": this build has no RADOS; build it where librados-dev is installed"};
}

}  // namespace

Result<std::unique_ptr<Engine>> open_rados_writer_engine(const RadosPlace& place, bool, std::optional<ShardCount>,
                                                         const std::atomic<bool>*) {
    return unsupported(place);
}
Result<std::unique_ptr<Engine>> open_rados_reader_engine(const RadosPlace& place) { return unsupported(place); }
Result<std::unique_ptr<RequestBox>> open_rados_request_box(const RadosPlace& place) { return unsupported(place); }

}  // namespace perfleet
