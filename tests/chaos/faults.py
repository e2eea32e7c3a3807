"""The faults: how each is drawn at random, and how it is applied to a world.

A fault belongs to a lane. The faults of one lane come one after the other, those of different lanes at the same time.
"""
import signal
import time

from keys import THIEF
from world import TIMEOUT_S, Failure, Proxy


def sleep_ms(duration_ms):
    time.sleep(duration_ms / 1000)


class Fault:
    lane = "gateway"
    weight = 1
    gateways = ("plain", "faulty")  # that it can be done to
    needs_keys = False

    @classmethod
    def can_be_done(cls, plan):
        return plan["gateway"] in cls.gateways and (plan["keys"] or not cls.needs_keys)

    @staticmethod
    def draw(rng, plan):
        return {}


class GatewayKilled(Fault):
    """SIGKILL, and started again after a while."""

    weight = 4

    @staticmethod
    def draw(rng, plan):
        return {"down_ms": rng.choice([0, 20, 200, 600]), "seat": rng.randrange(plan["endpoints"])}

    @staticmethod
    def run(world, fault):
        world.gateway.end(signal.SIGKILL)
        sleep_ms(fault["down_ms"])
        world.gateway.seat = fault["seat"]
        world.gateway.start()


class GatewayStopped(Fault):
    """SIGTERM, and started again."""

    weight = 3

    @staticmethod
    def draw(rng, plan):
        return {"down_ms": rng.choice([0, 20, 200, 600]), "seat": rng.randrange(plan["endpoints"])}

    @staticmethod
    def run(world, fault):
        world.gateway.end(signal.SIGTERM)
        sleep_ms(fault["down_ms"])
        world.gateway.seat = fault["seat"]
        world.gateway.start()


class PowerCut(Fault):
    """The gateway's machine loses power: of what no sync has covered all is lost, or some, torn at any byte or sector."""

    weight = 6
    gateways = ("faulty",)

    @staticmethod
    def draw(rng, plan):
        return {"lose": rng.choice(["all", "cut", "sectors"])}

    @staticmethod
    def run(world, fault):
        world.gateway.disk.set(f"lose={fault['lose']}")
        world.gateway.end(signal.SIGKILL)
        world.gateway.start()


class PowerCutAt(Fault):
    """As a power cut, but at a certain change of the disk, however the machine is loaded."""

    weight = 4
    gateways = ("faulty",)

    @staticmethod
    def draw(rng, plan):
        return {"change": int(2 ** rng.uniform(0, 8)), "lose": rng.choice(["all", "cut", "sectors"])}

    @staticmethod
    def run(world, fault):
        world.gateway.disk.set(f"lose={fault['lose']} crash-at={fault['change']}")
        world.gateway.wait_for_crash()
        world.gateway.disk.set(f"lose={fault['lose']}")
        world.gateway.start()


class GatewayPaused(Fault):
    """SIGSTOP, SIGCONT: a peer that is there and does nothing."""

    @staticmethod
    def draw(rng, plan):
        return {"duration_ms": rng.choice([50, 300, 1000])}

    @staticmethod
    def run(world, fault):
        world.gateway.process.send_signal(signal.SIGSTOP)
        sleep_ms(fault["duration_ms"])
        world.gateway.process.send_signal(signal.SIGCONT)


def fail_for_a_while(world, words, fault):
    """The gateway's disk fails as `words` say, and is sound again in the end; if drawn so, the power is cut before."""
    world.gateway.disk.set(words)
    sleep_ms(fault["duration_ms"])
    if fault["power"]:
        world.gateway.end(signal.SIGKILL)
    world.gateway.disk.set("")
    if fault["power"]:
        world.gateway.start()


class DiskFull(Fault):
    """Space for some bytes more, then none. Ends with space, or with a power cut."""

    weight = 3
    gateways = ("faulty",)

    @staticmethod
    def draw(rng, plan):
        return {
            "room_bytes": rng.choice([0, 100, 5000, 100_000]),
            "duration_ms": rng.choice([30, 200, 600]),
            "power": rng.random() < 0.4,
        }

    @staticmethod
    def run(world, fault):
        fail_for_a_while(world, f"room={fault['room_bytes']}", fault)


class CallsFail(Fault):
    """Syncs or writes of some files fail with EIO, once or all the time. Ends with a sound disk, or with a power cut."""

    weight = 3
    gateways = ("faulty",)

    @staticmethod
    def draw(rng, plan):
        return {
            "words": rng.choice(["sync", "sync", "write"]) + "=" + rng.choice(["once", "always", "every:3", "after:5"]),
            "files": rng.choice(["log", "log,table,manifest,other"]),
            "duration_ms": rng.choice([30, 200, 600]),
            "power": rng.random() < 0.4,
        }

    @staticmethod
    def run(world, fault):
        fail_for_a_while(world, f"{fault['words']} files={fault['files']} lose=all", fault)


class SyncsHang(Fault):
    """A disk that doesn't answer for a while; sometimes the gateway is killed in the middle."""

    weight = 2
    gateways = ("plain",)

    @staticmethod
    def draw(rng, plan):
        return {"duration_ms": rng.choice([50, 300]), "killed": rng.random() < 0.5}

    @staticmethod
    def run(world, fault):
        world.gateway.page.set_syncs_hang(1)
        sleep_ms(fault["duration_ms"])
        if fault["killed"]:
            world.gateway.end(signal.SIGKILL)
        world.gateway.page.set_syncs_hang(0)
        if fault["killed"]:
            world.gateway.start()


class GatewayClockStepped(Fault):
    """The gateway's UTC jumps: batches come for other hours, future ones among them."""

    @staticmethod
    def draw(rng, plan):
        return {"offset_s": rng.choice([-7200, -3600, -60, 3600, 7200, 90_000])}

    @staticmethod
    def run(world, fault):
        world.gateway.page.set_clock(fault["offset_s"])


class PartitionsDropped(Fault):
    """While the gateway is down, retention drops every hour that is there; batches of these hours come later."""

    @staticmethod
    def draw(rng, plan):
        return {"signal": rng.choice([signal.SIGKILL, signal.SIGTERM])}

    @staticmethod
    def run(world, fault):
        world.gateway.end(fault["signal"])
        world.drop_partitions()
        world.gateway.start()


class SourceKilled(Fault):
    """SIGKILL; another run on the same target follows, with a session of its own."""

    lane = "sources"
    weight = 2

    @staticmethod
    def draw(rng, plan):
        return {"source": rng.randrange(len(plan["sources"]))}

    @staticmethod
    def run(world, fault):
        source = world.sources[fault["source"]]
        source.kill()
        source.start()


def draw_spooled(rng, plan):
    """A source with a spool on disk, if there is one."""
    spooled = [index for index, source in enumerate(plan["sources"]) if source["spooled"]]
    return rng.choice(spooled or range(len(plan["sources"])))


class SourcePowerCut(Fault):
    """The collector's machine loses power: of its spool on disk what no sync has covered is gone, or some pages or
    sectors of it. Without such a spool it is killed."""

    lane = "sources"
    weight = 3

    @staticmethod
    def draw(rng, plan):
        lose = rng.choice(["all", "pages", "sectors"])
        return {"source": draw_spooled(rng, plan), "lose": lose, "seed": rng.randrange(2**32)}

    @staticmethod
    def run(world, fault):
        source = world.sources[fault["source"]]
        source.cut_power(fault["lose"], fault["seed"])
        source.start()


class SpoolWrittenBack(Fault):
    """The kernel of the collector's machine writes pages of the spool to the disk, as it does from time to time."""

    lane = "write back"
    weight = 3

    @staticmethod
    def draw(rng, plan):
        return {"source": draw_spooled(rng, plan), "share": rng.choice([0.1, 0.5, 1.0]), "seed": rng.randrange(2**32)}

    @staticmethod
    def run(world, fault):
        source = world.sources[fault["source"]]
        if source.disk is not None:
            source.disk.write_back(fault["share"], fault["seed"])


class SourceStopped(Fault):
    """SIGTERM: it flushes, sends Bye, and another run follows. It waits half a second for its acknowledgements."""

    lane = "sources"

    @staticmethod
    def draw(rng, plan):
        return {"source": rng.randrange(len(plan["sources"]))}

    @staticmethod
    def run(world, fault):
        source = world.sources[fault["source"]]
        source.stop()
        source.start()


class SourcePaused(Fault):
    """SIGSTOP, SIGCONT."""

    lane = "sources"

    @staticmethod
    def draw(rng, plan):
        return {"source": rng.randrange(len(plan["sources"])), "duration_ms": rng.choice([50, 300, 1000])}

    @staticmethod
    def run(world, fault):
        process = world.sources[fault["source"]].process
        process.send_signal(signal.SIGSTOP)
        sleep_ms(fault["duration_ms"])
        process.send_signal(signal.SIGCONT)


class SourceClockStepped(Fault):
    """The target's UTC jumps."""

    lane = "sources"

    @staticmethod
    def draw(rng, plan):
        return {"source": rng.randrange(len(plan["sources"])), "offset_s": rng.choice([-86_400, -1, 1, 3600, 31_536_000])}

    @staticmethod
    def run(world, fault):
        world.sources[fault["source"]].page.set_clock(fault["offset_s"])


class FramesReplayed(Fault):
    """A peer sends again, in another order and twice, the frames that a source has sent; the source's own place is taken from it."""

    lane = "sources"
    weight = 2

    @staticmethod
    def draw(rng, plan):
        thief = plan["keys"] and rng.random() < 0.4  # with keys: under his own, so that nobody believes him
        return {"source": rng.randrange(len(plan["sources"])), "seed": rng.randrange(2**32), "thief": thief}

    @staticmethod
    def run(world, fault):
        source = world.sources[fault["source"]]
        world.replay(source, fault["seed"], THIEF if fault["thief"] else source.name)


class KeyRevoked(Fault):
    """A source's key is taken off the gateway's list, and its connections must end; later it is enrolled again."""

    lane = "keys"
    weight = 3
    needs_keys = True

    @staticmethod
    def draw(rng, plan):
        return {"source": rng.randrange(len(plan["sources"])), "duration_ms": rng.choice([0, 100, 500])}

    @staticmethod
    def run(world, fault):
        source = world.sources[fault["source"]]
        world.keys.revoke(source.name)
        before = [(proxy, proxy.connections()) for proxy in source.proxies]
        end = time.monotonic() + TIMEOUT_S
        while any(connections & proxy.connections() for proxy, connections in before):
            if time.monotonic() > end:
                raise Failure(f"{source.name}: still connected {TIMEOUT_S} s after its key was revoked")
            sleep_ms(20)
        sleep_ms(fault["duration_ms"])
        world.keys.enrol(source.name)


class AllowListChanged(Fault):
    """The gateway's folder of keys changes while it runs: others come in, a file is bad, a source's file is written
    again or says something else of it."""

    lane = "keys"
    weight = 3
    needs_keys = True

    @staticmethod
    def draw(rng, plan):
        return {
            "source": rng.randrange(len(plan["sources"])),
            "sort": rng.choice(["others", "bad", "same", "in place", "label"]),
            "seed": rng.randrange(2**32),
        }

    @staticmethod
    def run(world, fault):
        name = world.sources[fault["source"]].name
        if fault["sort"] == "others":
            world.keys.enrol_strangers(30, fault["seed"])
        elif fault["sort"] == "bad":
            world.keys.spoil(fault["seed"])
        elif fault["sort"] == "same":
            world.keys.enrol(name)
        elif fault["sort"] == "in place":
            world.keys.write_in_place(name)
        else:
            world.keys.enrol(name, f"label.shelf = {fault['seed']}\n")


class NetworkFault(Fault):
    lane = "network"

    @staticmethod
    def draw(rng, plan):
        return {
            "source": rng.randrange(len(plan["sources"])),
            "direction": rng.choice([Proxy.TO_GATEWAY, Proxy.TO_SOURCE]),
        }

    @staticmethod
    def proxies(world, fault):
        return world.sources[fault["source"]].proxies


class ConnectionCut(NetworkFault):
    """The connection breaks after any number of bytes, in either direction."""

    weight = 5

    @staticmethod
    def draw(rng, plan):
        return NetworkFault.draw(rng, plan) | {"byte_count": int(2 ** rng.uniform(0, 17))}

    @classmethod
    def run(cls, world, fault):
        for proxy in cls.proxies(world, fault):
            proxy.cut_after(fault["direction"], fault["byte_count"])


class BytesHeld(NetworkFault):
    """Nothing passes for a while, then all of it: late acknowledgements, full buffers."""

    weight = 2

    @staticmethod
    def draw(rng, plan):
        return NetworkFault.draw(rng, plan) | {"duration_ms": rng.choice([50, 400, 1500])}

    @classmethod
    def run(cls, world, fault):
        for proxy in cls.proxies(world, fault):
            proxy.hold(fault["direction"], fault["duration_ms"] / 1000)


class BytesSwallowed(NetworkFault):
    """A half-open connection: what is sent vanishes, and only later does the connection break."""

    weight = 2

    @staticmethod
    def draw(rng, plan):
        return NetworkFault.draw(rng, plan) | {"duration_ms": rng.choice([50, 400, 1500])}

    @classmethod
    def run(cls, world, fault):
        for proxy in cls.proxies(world, fault):
            proxy.swallow(fault["direction"], fault["duration_ms"] / 1000)


ALL = {
    fault.__name__: fault
    for fault in [
        GatewayKilled,
        GatewayStopped,
        PowerCut,
        PowerCutAt,
        GatewayPaused,
        DiskFull,
        CallsFail,
        SyncsHang,
        GatewayClockStepped,
        PartitionsDropped,
        SourceKilled,
        SourcePowerCut,
        SpoolWrittenBack,
        SourceStopped,
        SourcePaused,
        SourceClockStepped,
        FramesReplayed,
        KeyRevoked,
        AllowListChanged,
        ConnectionCut,
        BytesHeld,
        BytesSwallowed,
    ]
}
