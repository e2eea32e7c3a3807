// A ZeroMQ context that several drivers share, without its type: one I/O thread serves them all.
#pragma once

#include <memory>

namespace perfleet {

class TransportContext {
public:
    TransportContext();
    ~TransportContext();
    TransportContext(const TransportContext&) = delete;
    TransportContext& operator=(const TransportContext&) = delete;

    // What zmq_ctx_new() returned.
    [[nodiscard]] void* native_handle() const { return context_; }

private:
    void* context_;
};

}  // namespace perfleet
