# Messages between a collector and the gateway. One Envelope is one ZeroMQ frame: a Cap'n Proto message of a single segment.
#
# Evolution, from the first release on: fields are only ever added at the end with the next number; numbers, types and
# enumerants never change or come back. Readers ignore what they don't know. See README.md beside this file.
@0xd1c2a54be3f09a71;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("perfleet::wire");

struct Envelope {
  protocolVersion @0 :UInt16;   # of the sender; kVersion in protocol.h
  union {
    hello @1 :Hello;
    welcome @2 :Welcome;
    helloAgain @3 :HelloAgain;
    batch @4 :Batch;
    ack @5 :Ack;
    refused @6 :Refused;
    bye @7 :Bye;
    control @8 :Control;
    needImage @9 :NeedImage;
    image @10 :Image;
    controlled @11 :Controlled;
    imageOffers @12 :ImageOffers;
    elsewhere @14 :Elsewhere;
  }
  checksum @13 :UInt32;         # of the whole message: checksum.h
}

struct SessionId {
  high @0 :UInt64;
  low @1 :UInt64;
}

struct Label {
  key @0 :Text;
  value @1 :Text;
}

struct ClockPoint {
  ticks @0 :UInt64;
  utcNs @1 :Int64;
  uncertaintyNs @2 :UInt64;
}

struct Clock {
  name @0 :Text;               # "monotonic", "pmccntr"
  ticksPerSecond @1 :UInt64;
  linuxClockid @2 :Int32;      # CLOCK_* on Linux, -1 elsewhere
}

struct Event {                 # its index in Hello.events is its EventNumber
  name @0 :Text;               # as the user wrote it: "cpu-clock", "sched:sched_switch"
  kind @1 :UInt8;              # Kind of its rows: sample or tracepoint (counter readings name the event, too)
  perfType @2 :UInt32;         # perf_event_attr.type, .config
  perfConfig @3 :UInt64;
  period @4 :UInt64;           # sampling period, or frequency in Hz when isFrequency
  isFrequency @5 :Bool;
  excludeKernel @6 :Bool;
  excludeUser @7 :Bool;
  callchain @8 :Bool;
  unit @9 :Text;               # of weight and value: "ns", "events", "cycles"
  format @10 :Text;            # tracepoint format as tracefs gives it, else empty
  group @11 :UInt16;           # from 1; events of one stand side by side, their leader first: counted all or none. 0: in none
  attr @12 :Data;              # perf_event_attr of an imported recording, as it was recorded; else empty
}

struct Host {                  # what an export says of the machine
  osRelease @0 :Text;
  cpuDescription @1 :Text;
  cpuId @2 :Text;
  cpusOnline @3 :UInt32;
  cpusConfigured @4 :UInt32;
  memoryKib @5 :UInt64;
  commandLine @6 :List(Text);  # of the collector
  pageSizeBytes @7 :UInt32;
  tracingHeaderPage @8 :Data;  # tracefs events/header_page, header_event: needed to read raw tracepoints
  tracingHeaderEvent @9 :Data;
}

struct ImageOffer {            # content that the collector can send when asked (NeedImage)
  buildId @0 :Data;
  type @1 :UInt16;             # ImageType in protocol.h
  sizeBytes @2 :UInt64;        # 0: told with its first chunk
}

struct Hello {
  session @0 :SessionId;       # all zero: please grant one
  targetId @1 :UInt64;
  targetName @2 :Text;
  architecture @3 :Text;       # "x86_64", "aarch64"
  labels @4 :List(Label);
  events @5 :List(Event);
  clock @6 :Clock;
  startPoint @7 :ClockPoint;   # when the session began
  host @8 :Host;
  imageOffers @9 :List(ImageOffer);
  collectorVersion @10 :Text;
  oldestRetainedSeq @11 :UInt64;
  clockTicks @12 :UInt64;      # what the session's clock reads when this is sent; 0: its collector doesn't tell
}

struct Welcome {
  session @0 :SessionId;
  utcNs @1 :Int64;
  incarnation @2 :UInt64;      # of the gateway process
  prefixSeq @3 :UInt64;        # as in Ack
  sendLimitSeq @4 :UInt64;
  batchSizeBytesMax @5 :UInt32;
  bucketDurationS @6 :UInt32;
}

struct HelloAgain {            # a peer the gateway doesn't know sent something; or the gateway stores again, and let go what came meanwhile
  incarnation @0 :UInt64;
}

struct Column {
  id @0 :UInt16;               # ColumnId
  codec @1 :UInt8;             # Codec
  bytes @2 :Data;
}

struct SeriesRows {
  kind @0 :UInt8;
  event @1 :UInt16;
  rowCount @2 :UInt32;
  firstTicks @3 :UInt64;
  lastTicks @4 :UInt64;
  columns @5 :List(Column);
}

struct CountEntry {
  kind @0 :UInt8;
  event @1 :UInt16;
  name @2 :UInt16;             # CountName
  value @3 :UInt64;            # cumulative since the session began
}

struct SeqRange {
  first @0 :UInt64;
  last @1 :UInt64;
}

struct Batch {
  session @0 :SessionId;
  seq @1 :UInt64;
  oldestRetainedSeq @2 :UInt64;  # what is below will never be sent (again); patched at every sending, with the checksum
  epoch @3 :UInt32;
  bucket @4 :UInt32;
  seal @5 :UInt32;               # schemas/columns/seal.h
  series @6 :List(SeriesRows);
  counts @7 :List(CountEntry);
  dropped @8 :List(SeqRange);
  clockPoints @9 :List(ClockPoint);
}

struct Ack {
  session @0 :SessionId;
  prefixSeq @1 :UInt64;        # every batch up to here is durable or resolved
  sendLimitSeq @2 :UInt64;     # highest seq that may be sent now
  incarnation @3 :UInt64;
  finished @4 :Bool;           # the Bye is durable
}

struct Refused {
  session @0 :SessionId;
  seq @1 :UInt64;              # 0: the session itself (its Hello)
  reason @2 :UInt16;           # RefusedReason in protocol.h
  message @3 :Text;
}

struct Bye {
  session @0 :SessionId;
  lastSeq @1 :UInt64;
  counts @2 :List(CountEntry);     # final, over everything
  dropped @3 :List(SeqRange);
  endPoint @4 :ClockPoint;
}

struct Control {               # an operator's order
  session @0 :SessionId;
  command @1 :UInt16;          # ControlCommand in protocol.h
  event @2 :UInt16;            # 65535: all of the session's
  value @3 :UInt64;            # frequency or period
  number @4 :UInt64;           # from 1, growing within an incarnation; repeated with the same number until it is answered
  incarnation @5 :UInt64;
}

struct Controlled {            # what became of the order
  session @0 :SessionId;
  number @1 :UInt64;
  outcome @2 :UInt16;          # ControlOutcome in protocol.h
  reason @3 :Text;             # for the operator, where it wasn't applied
}

struct ImageOffers {           # more of what a Hello offers, at any time; replaces nothing
  session @0 :SessionId;
  offers @1 :List(ImageOffer);
}

struct Elsewhere {             # another gateway holds the target's shard: say Hello there
  session @0 :SessionId;       # as in the Hello
  endpoint @1 :Text;
  publicKey @2 :Text;          # Z85; empty where there are no keys
}

struct NeedImage {
  buildId @0 :Data;            # empty: nothing more is needed of the last ImageOffers
  offset @1 :UInt64;           # send from here
}

struct Image {
  session @0 :SessionId;
  buildId @1 :Data;
  type @2 :UInt16;
  sizeBytes @3 :UInt64;        # of the whole; 0: there is no such content
  offset @4 :UInt64;
  bytes @5 :Data;
}
