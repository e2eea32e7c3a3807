#include "target-collector/sel4/domain/watched_domains.h"

#include "target-collector/sel4/run/collector_run.h"

namespace perfleet::sel4 {

WatchedDomains::WatchedDomains(const DomainTable& table) : child_count_{table.child_count} {
    threads_[0] = {.tid = CollectorRun::kOwnThread, .name = kOwnName, .pid = CollectorRun::kPid};
    std::uint32_t number = CollectorRun::kOwnThread;
    for (std::size_t i = 0; i < child_count_; ++i) {
        const DomainChild& child = table.all_children[i];
        ++number;
        threads_[i + 1] = {.tid = number, .name = child.name(), .pid = number};
        images_[i] = {.path = child.path(),
                      .build_id = child.build_id(),
                      .address = child.image_address,
                      .size_bytes = child.image_size_bytes,
                      .pid = number};
        sampled_[i] = {ThreadNumber{number},
                       {reinterpret_cast<const std::byte*>(child.stack_address), child.stack_size_bytes}};
    }
}

}  // namespace perfleet::sel4
