// Records and keys as read from the store. First byte: which, from 0xe0 on a dictionary of a partition, from 0xe4 on a
// map into one, from 0xe8 on a summary of a day; odd: the record's checksum is corrected first. Whatever decodes must
// be the same after being encoded and decoded again.
#include "schemas/vocabulary/batch_limits.h"
#include "storage/dictionary/partition_dictionary.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/summary/day_summary.h"
#include "tests/fuzz/checksums.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

constexpr std::size_t kKeySizeBytesMax = 256;  // none is so long; a longer one would only be printed at length

template <class Value, class Decode>
void expect_round_trip(const Result<Value>& value, Decode decode) {
    if (!value.ok()) {
        PERFLEET_ASSERT(!value.error().message.empty());
        return;
    }
    const std::string once = encode_record(*value);
    const auto again = decode(once);
    PERFLEET_ASSERT(again.ok() && encode_record(*again) == once);
}

void check_batches(const std::string& bytes) {
    const auto decode = [](std::string_view from) { return decode_batches_untrusted(from, Seq{7}, BucketNumber{8}); };
    const auto batches = decode(bytes);
    if (!batches.ok()) {
        PERFLEET_ASSERT(!batches.error().message.empty());
        return;
    }
    const bool is_list = is_batch_list_untrusted(bytes);
    const auto again = decode(is_list ? encode_batch_list(*batches) : encode_record(batches->front()));
    PERFLEET_ASSERT(!again.ok() || *again == *batches);
}

void check_records(std::uint8_t which, const std::string& bytes) {
    switch (which % 7) {
        case 0: return expect_round_trip(decode_session_untrusted(bytes), decode_session_untrusted);
        case 1: return expect_round_trip(decode_session_end_untrusted(bytes), decode_session_end_untrusted);
        case 2:
        case 6: return check_batches(bytes);
        case 3: return expect_round_trip(decode_expired_batch_untrusted(bytes), decode_expired_batch_untrusted);
        case 4: return expect_round_trip(decode_image_untrusted(bytes), decode_image_untrusted);
        default: return expect_round_trip(decode_number_untrusted(bytes), decode_number_untrusted);
    }
}

template <class Decode, class Encode>
void check_encoded(const std::string& bytes, Decode decode, Encode encode) {
    const auto value = decode(bytes);
    if (!value.ok()) {
        PERFLEET_ASSERT(!value.error().message.empty());
        return;
    }
    const auto again = decode(encode(*value));
    PERFLEET_ASSERT(again.ok() && *again == *value);
}

void check_keys(std::string_view key) {
    for (const char letter : describe_key(key)) {
        PERFLEET_ASSERT(static_cast<unsigned char>(letter) >= ' ');
    }
    if (const auto block = decode_block_key(key); block.ok()) {
        PERFLEET_ASSERT(block_key(*block) == key);
    }
    if (const auto summary = decode_summary_key(key); summary.ok()) {
        PERFLEET_ASSERT(summary_key(*summary) == key);
    }
    if (const auto map = decode_stack_map_key(key); map.ok()) {
        PERFLEET_ASSERT(stack_map_key(*map) == key);
    }
    if (const auto batch = decode_partition_batch_key(key); batch.ok()) {
        PERFLEET_ASSERT(partition_batch_key(batch->partition, batch->key) == key);
    }
    if (const auto session = decode_partition_session_key(key); session.ok()) {
        PERFLEET_ASSERT(partition_session_key(session->partition, session->name.target, session->name.session) == key);
    }
    if (const auto session = decode_session_key(key); session.ok()) {
        PERFLEET_ASSERT(session_key(static_cast<Table>(key[0]), session->target, session->session) == key);
    }
    if (const auto session = decode_session_partition_key(key); session.ok()) {
        PERFLEET_ASSERT(session_partition_key(session->name.target, session->name.session, session->partition) == key);
    }
    if (const auto batch = decode_expired_batch_key(key); batch.ok()) {
        PERFLEET_ASSERT(expired_batch_key(*batch) == key);
    }
    static_cast<void>(decode_partition(key).ok());
    static_cast<void>(decode_expired_key(key).ok());
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::uint8_t which = input.byte();
    std::string bytes{input.rest_text()};
    if (bytes.size() <= kKeySizeBytesMax) {
        check_keys(bytes);
    }
    if ((which & 1) != 0) {
        put_record_checksum_right(bytes);
    }
    if (which >= 0xe8) {
        check_encoded(bytes, decode_summary_untrusted, encode_summary);
        const auto day = decode_summary_untrusted(bytes);
        if (day.ok()) {
            PERFLEET_ASSERT(dictionary_of(*day).ok() || day->nodes.size() > limits::kStackChainMax);
        }
        return 0;
    }
    if (which >= 0xe4) {
        check_encoded(bytes, decode_stack_map_untrusted, encode_stack_map);
        return 0;
    }
    if (which >= 0xe0) {
        check_encoded(bytes, decode_dictionary_untrusted, encode_dictionary);
        const auto dictionary = decode_dictionary_untrusted(bytes);
        if (dictionary.ok()) {
            PERFLEET_ASSERT(peek_node_count_untrusted(bytes) == dictionary->nodes.size());
            PERFLEET_ASSERT(epoch_dictionary_of(*dictionary).ok() || dictionary->nodes.size() > limits::kStackChainMax);
        }
        return 0;
    }
    check_records(which >> 1, bytes);
    return 0;
}
