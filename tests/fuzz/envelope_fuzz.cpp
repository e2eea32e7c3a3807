// A collector's messages to the gateway. Messages get their right checksum and batches their seal first, so that the
// fuzzer reaches the code after them. Whatever is admitted must be readable for the store and the queries.
#include "gateway/admission/admit_batch.h"
#include "gateway/admission/admit_hello.h"
#include "gateway/admission/decode.h"
#include "schemas/wire/checksum.h"
#include "storage/block/block.h"
#include "storage/model/record.h"
#include "storage/store/testing/sample_batches.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

void take(BatchUntrusted batch) {
    if (batch.fault) {
        return;
    }
    static BatchAdmission admission;
    const SessionRecord session = sample_session(TargetId{1}, batch.header.session);
    batch.seal = seal_of(batch.header, batch.series, batch.counts, batch.dropped, batch.clock_points);
    const auto admitted = admission.admit(batch, session);
    if (!admitted.ok()) {
        PERFLEET_ASSERT(!admitted.error().message.empty());
        return;
    }
    for (const BatchSeries& series : admitted->series) {
        const auto block = parse_block_untrusted(series.block);
        PERFLEET_ASSERT(block.ok() && block->header.row_count == series.row_count);
        DecodedRows rows;
        PERFLEET_ASSERT(rows.decode(*block).ok());
    }
    const std::string record = encode_record(admitted->record);
    const auto again = decode_batches_untrusted(record, admitted->record.seq, admitted->record.bucket);
    PERFLEET_ASSERT(again.ok() && again->size() == 1 && again->front() == admitted->record);
}

void take(const HelloUntrusted& hello) {
    if (hello.fault) {
        return;
    }
    const auto session = admit_hello(hello);
    if (session.ok()) {
        const auto again = decode_session_untrusted(encode_record(*session));
        PERFLEET_ASSERT(again.ok() && *again == *session);
    }
}

void take(const ByeUntrusted& bye) {
    const auto end = admit_bye(bye, sample_session(TargetId{1}, bye.session));
    if (end.ok()) {
        const auto again = decode_session_end_untrusted(encode_record(*end));
        PERFLEET_ASSERT(again.ok() && *again == *end);
    }
}

void take(const ImageOffersUntrusted& more) {
    for (const ImageOfferUntrusted& offer : more.offers) {
        [[maybe_unused]] static volatile char sink;
        sink = offer.build_id.empty() ? '\0' : offer.build_id.back();
    }
}

void take(const ImageUntrusted& image) {
    [[maybe_unused]] static volatile char sink;
    sink = image.bytes.empty() ? '\0' : image.bytes.back();
    sink = image.build_id.empty() ? '\0' : image.build_id.back();
}

void take(const ControlledUntrusted& controlled) {
    [[maybe_unused]] static volatile char sink;
    sink = controlled.reason.empty() ? '\0' : controlled.reason.back();
}

void take(const OtherUntrusted&) {}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    static Decoder decoder;
    FuzzInput input{data, size_bytes};
    std::vector<std::byte> frame{input.rest().begin(), input.rest().end()};
    if (frame.size() >= protocol::kChecksumEndBytes) {
        protocol::set_checksum(frame);
    }
    const auto message = decoder.decode(frame);
    if (message.ok()) {
        std::visit([](const auto& said) { take(said); }, *message);
    } else {
        PERFLEET_ASSERT(!message.error().message.empty());
    }
    return 0;
}
