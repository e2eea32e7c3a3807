// Messages of sample_messages.h with something changed, wrong most of the time. For tests of this module.
#pragma once

#include <functional>

#include "collector.capnp.h"
#include "gateway/admission/testing/sample_messages.h"

namespace perfleet::sample {

// Changes a message before it becomes a frame.
template <class Builder>
using Change = std::function<void(Builder)>;

[[nodiscard]] Frame hello_with(const SessionRecord& record, const Change<wire::Hello::Builder>& change);
[[nodiscard]] Frame batch_with(const AdmittedBatch& batch, const Change<wire::Batch::Builder>& change);

// Any other message.
[[nodiscard]] Frame envelope_with(const Change<wire::Envelope::Builder>& fill);

// Sets the seal that the content of the message calls for; after a change.
void reseal(wire::Batch::Builder batch);

}  // namespace perfleet::sample
