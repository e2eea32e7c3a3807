// Invalid messages: each is rejected, counted under its reason, and costs no more than its own size.
#include <gtest/gtest.h>

#include <cstring>

#include "gateway/admission/testing/sample_changes.h"
#include "gateway/ingest/testing/ingest_fixture.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/checksum.h"
#include "schemas/wire/delivery_limits.h"

namespace perfleet::hostile_message_test {
namespace {

using sample::Frame;
using sample::ReplyType;
using Words = std::vector<std::uint64_t>;

Frame frame_of(const Words& words) {
    Frame frame(words.size() * 8);
    std::memcpy(frame.data(), words.data(), frame.size());
    protocol::set_checksum(frame);  // what is made of it is of interest
    return frame;
}

Words words_of(const Frame& frame) {
    Words words(frame.size() / 8);
    std::memcpy(words.data(), frame.data(), frame.size());
    return words;
}

// A segment table of one segment that is as long as what follows.
Words message_of(std::size_t word_count, std::uint64_t filling) {
    Words words(word_count + 1, filling);
    words[0] = std::uint64_t{word_count} << 32;
    return words;
}

class HostileMessage : public testing::Test, protected IngestFixture {
protected:
    void expect_malformed(const Frame& frame, MessageMalformed reason) {
        const std::uint64_t before = ingest_->counts().messages_malformed.of(reason);
        take("stranger", frame);
        EXPECT_EQ(ingest_->counts().messages_malformed.of(reason), before + 1) << reason_name(reason);
        EXPECT_TRUE(replies("stranger").empty());
    }

    // A batch of this session that was changed after it was made, sealed anew.
    void expect_refused(const sample::Change<wire::Batch::Builder>& change, BatchRefusal reason,
                        bool is_resealed = true) {
        const std::uint64_t before = ingest_->counts().batches_refused.of(reason);
        ++seq_;
        take("peer",
             sample::batch_with(sample_batch(kTarget, kSession, Seq{seq_}).build(), [&](wire::Batch::Builder batch) {
                 change(batch);
                 if (is_resealed) {
                     sample::reseal(batch);
                 }
             }));
        EXPECT_EQ(ingest_->counts().batches_refused.of(reason), before + 1) << reason_name(reason);
        const auto said = replies();
        ASSERT_EQ(said.size(), 1U);
        EXPECT_EQ(said[0].type, ReplyType::kRefused);
        EXPECT_EQ(said[0].seq, seq_);
    }

    void greet() {
        say_hello();
        replies();
    }

    std::uint64_t seq_ = 0;
};

TEST_F(HostileMessage, SegmentsWithoutEnd) {
    for (const std::uint32_t count : {1U, 2U, 511U, 512U, 100'000U, 0x7fff'ffffU, 0xffff'fffeU, 0xffff'ffffU}) {
        Words words(2'000, 0x0000'0001'0000'0001);
        words[0] = 0x0000'0001'0000'0000 | count;
        expect_malformed(frame_of(words), MessageMalformed::kUnreadable);
    }
    // Of a good message in two segments as well: one message is one segment.
    const Words good = words_of(sample::probe());
    Words split(good);
    split.insert(split.begin() + 1, 0);
    split[0] = (std::uint64_t{good.size() - 1} << 32) | 1;
    expect_malformed(frame_of(split), MessageMalformed::kUnreadable);
}

TEST_F(HostileMessage, PointersInCirclesAndListsOfNothing) {
    // Half a billion elements of no size.
    expect_malformed(frame_of(message_of(100, 0xffff'fff8'0000'0001)), MessageMalformed::kUnreadable);
    // Structs that point back at themselves, as deep as a reader follows; far pointers to far pointers; capabilities.
    // Everything readable in them is untrusted.
    for (const std::uint64_t pointer :
         {0x0001'0001'ffff'fffcULL, 0x0001'0004'ffff'fff8ULL, 0x0003'0003'ffff'fff0ULL, 0x0000'0000'0000'0002ULL,
          0x0000'0000'0000'0006ULL, 0x0000'0000'0000'0003ULL, 0xffff'ffff'ffff'ffffULL}) {
        take("stranger", frame_of(message_of(10'000, pointer)));
    }
    commit();
    EXPECT_EQ(ingest_->counts().batches_stored, 0U);
    EXPECT_EQ(ingest_->counts().sessions_now, 0U);
}

TEST_F(HostileMessage, SizesThatNoMessageHas) {
    expect_malformed({}, MessageMalformed::kTruncated);
    expect_malformed(Frame(7), MessageMalformed::kTruncated);
    expect_malformed(Frame(limits::kBatchSizeBytesMax + 16), MessageMalformed::kTooLarge);
}

TEST_F(HostileMessage, LiesOfEachSort) {
    greet();
    expect_refused([](wire::Batch::Builder batch) { batch.getSeries()[0].setRowCount(0xffff'ffff); },
                   BatchRefusal::kTooLarge);
    expect_refused([](wire::Batch::Builder batch) { batch.getSeries()[0].setRowCount(limits::kBatchRowsMax); },
                   BatchRefusal::kColumn);
    expect_refused([](wire::Batch::Builder batch) { batch.getSeries()[0].setLastTicks(1); }, BatchRefusal::kColumn);
    expect_refused([](wire::Batch::Builder batch) { batch.getSeries()[0].setKind(99); }, BatchRefusal::kNewer);
    expect_refused([](wire::Batch::Builder batch) { batch.getSeries()[0].setKind(99); }, BatchRefusal::kSeal, false);
    expect_refused([](wire::Batch::Builder batch) { batch.getSeries()[0].getColumns()[1].setCodec(99); },
                   BatchRefusal::kNewer);
    expect_refused([](wire::Batch::Builder batch) { batch.getCounts()[0].setEvent(99); }, BatchRefusal::kCounters);
    expect_refused([](wire::Batch::Builder batch) { batch.getSeries()[0].setEvent(99); }, BatchRefusal::kSeries);
    expect_refused([](wire::Batch::Builder batch) { batch.setOldestRetainedSeq(~0ULL); }, BatchRefusal::kHeader);
    expect_refused([](wire::Batch::Builder batch) { batch.setBucket(4'000'000'000U); }, BatchRefusal::kHeader);
    expect_refused([](wire::Batch::Builder batch) { batch.getCounts()[0].setKind(99); }, BatchRefusal::kNewer);
    expect_refused(
        [](wire::Batch::Builder batch) {
            auto range = batch.initDropped(1)[0];
            range.setFirst(5);
            range.setLast(~0ULL);
        },
        BatchRefusal::kRange);
    expect_refused([](wire::Batch::Builder batch) { batch.setSeal(batch.getSeal() ^ 1); }, BatchRefusal::kSeal, false);
    expect_refused([](wire::Batch::Builder batch) { batch.initCounts(limits::kCountsMax + 1); },
                   BatchRefusal::kTooLarge, false);
    EXPECT_EQ(ingest_->counts().batches_refused.total(), 14U);
}

TEST_F(HostileMessage, SeqsFromThePastTheFutureAndNowhere) {
    greet();
    const auto with_seq = [](std::uint64_t seq) {
        return sample::batch(sample_batch(kTarget, kSession, Seq{seq}).build());
    };
    take("peer", with_seq(~0ULL));
    take("peer", with_seq(limits::kOutOfOrderSeqsMax + 1));
    EXPECT_EQ(ingest_->counts().batches_ignored.of(BatchIgnored::kBeyondWindow), 2U);
    take("peer", with_seq(limits::kSendWindowBatches + 1));
    EXPECT_EQ(ingest_->counts().batches_ignored.of(BatchIgnored::kBeyondCredit), 1U);
    take("peer", sample::batch_with(sample_batch(kTarget, kSession, Seq{1}).build(),
                                    [](wire::Batch::Builder batch) { batch.setSeq(0); }));
    EXPECT_EQ(ingest_->counts().messages_malformed.of(MessageMalformed::kSeq), 1U);
    take("stranger", with_seq(1));
    EXPECT_EQ(ingest_->counts().batches_ignored.of(BatchIgnored::kNoSession), 1U);
    // A past one again and again costs a look.
    send_batch(1);
    commit();
    for (int i = 0; i < 1'000; ++i) {
        send_batch(1);
    }
    EXPECT_EQ(ingest_->counts().batches_duplicate, 1'000U);
    EXPECT_EQ(ingest_->counts().batches_stored, 1U);
}

// A collector that is newer than this gateway counts what has no name here.
TEST_F(HostileMessage, ACountOfAnUnknownNameIsKeptAsItsNumber) {
    greet();
    constexpr auto kFutureName = static_cast<CountName>(4'321);
    SampleBatch batch = sample_batch(kTarget, kSession, Seq{1});
    batch.entry({Kind::kSample, EventNumber{0}}, kFutureName, 77);
    take("peer", sample::batch(batch.build()));
    take("peer", sample::bye(kSession, {Seq{1}, {{{Kind::kSample, EventNumber{0}}, kFutureName, 78}}, {}, {}}));
    commit();
    EXPECT_EQ(ingest_->counts().batches_refused.total(), 0U);
    ASSERT_EQ(ingest_->counts().batches_stored, 1U);
    std::uint64_t found = 0;
    ASSERT_TRUE(store_
                    ->visit_batches(partition_of(kTarget, kSampleBucket), kTarget, kSession,
                                    [&](const BatchRecord& record) {
                                        for (const CountEntry& entry : record.counts) {
                                            found += entry.name == kFutureName ? entry.value : 0;
                                        }
                                        return Visit::kContinue;
                                    })
                    .ok());
    EXPECT_EQ(found, 77U);
    const auto end = store_->session_end(kTarget, kSession);
    ASSERT_TRUE(end.ok() && end->has_value());
    EXPECT_EQ((*end)->counts.at(0).name, kFutureName);
}

TEST_F(HostileMessage, HellosPastTheirLimits) {
    take("peer", sample::hello_with(sample_session(kTarget, kSession),
                                    [](wire::Hello::Builder hello) { hello.initLabels(limits::kLabelsMax + 1); }));
    EXPECT_EQ(ingest_->counts().sessions_refused.of(SessionRefusal::kTooLarge), 1U);
    take("peer", sample::hello_with(sample_session(kTarget, kSession), [](wire::Hello::Builder hello) {
             hello.setTargetName(std::string(intake_limits::kNameSizeBytesMax + 1, 'x'));
         }));
    EXPECT_EQ(ingest_->counts().sessions_refused.of(SessionRefusal::kTooLarge), 2U);
    take("peer", sample::hello_with(sample_session(kTarget, kSession),
                                    [](wire::Hello::Builder hello) { hello.getClock().setTicksPerSecond(0); }));
    EXPECT_EQ(ingest_->counts().sessions_refused.of(SessionRefusal::kMalformed), 1U);
    take("peer", sample::of_version(99, sample::hello(sample_session(kTarget, kSession))));
    EXPECT_EQ(ingest_->counts().sessions_refused.of(SessionRefusal::kVersion), 1U);
}

}  // namespace
}  // namespace perfleet::hostile_message_test
