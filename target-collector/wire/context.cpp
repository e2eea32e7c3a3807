#include "target-collector/wire/context.h"

#include <zmq.h>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

TransportContext::TransportContext() : context_{zmq_ctx_new()} { PERFLEET_ASSERT(context_ != nullptr); }

TransportContext::~TransportContext() { zmq_ctx_term(context_); }

}  // namespace perfleet
