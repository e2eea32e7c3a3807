// The ZeroMQ context of a process, without its type.
#pragma once

#include <memory>

namespace perfleet {

class TransportContext {
public:
    TransportContext();
    ~TransportContext();
    TransportContext(const TransportContext&) = delete;
    TransportContext& operator=(const TransportContext&) = delete;

    // What zmq_ctx_new() returned: for peers in the same process that meet over inproc://.
    [[nodiscard]] void* native_handle() const { return context_; }

private:
    void* context_;
};

}  // namespace perfleet
