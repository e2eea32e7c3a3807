"""A cycle's plan, made from its seed and number alone: the same ones give the same plan, on any machine."""
import random

import faults


def draw_collector(rng):
    """perfleet-collector itself: its batches close at 16,384 rows."""
    return {
        "sort": "collector",
        "calls": rng.choice([3_000, 60_000, 200_000]),
        "duration-ms": rng.choice([800, 1200, 1800]),
        "spooled": rng.random() < 0.75,  # on disk
        "spool-size": rng.choice([1 << 20, 1 << 22, 1 << 24]),
    }


def draw_source(rng):
    source = {
        "sort": "source",
        "seed": rng.randrange(2**32),
        "rows": rng.choice([2_000, 10_000, 30_000]),
        "duration-ms": rng.choice([800, 1200, 1800]),
        "batch-rows": rng.choice([20, 200, 1000]),
        "batch-age-ms": rng.choice([10, 40, 200]),
        "ring-size": rng.choice([1 << 16, 1 << 18, 1 << 20]),
        "spool-size": rng.choice([1 << 16, 1 << 18, 1 << 23]),
        "resend-ms": rng.choice([100, 300, 1000]),
    }
    source["spooled"] = rng.random() < 0.4  # on disk
    if source["spooled"]:
        source["spool-size"] = max(source["spool-size"], 1 << 20)
    return source


def plan_of(seed, cycle, kinds=None, breakage=None):
    """`kinds`: names of the faults to draw from; all when empty. `breakage`: the rule that the store breaks, if any."""
    rng = random.Random(f"{seed}/{cycle}")
    plan = {"seed": seed, "cycle": cycle}
    plan["gateway"] = "faulty" if rng.random() < 0.7 or breakage else "plain"
    plan["disk_seed"] = rng.randrange(2**32)
    plan["break"] = breakage
    plan["keys"] = rng.random() < 0.3 or any(faults.ALL[name].needs_keys for name in kinds or [])
    plan["endpoints"] = 2 if rng.random() < 0.15 else 1
    source_count = rng.choice([1, 2, 3])
    collector = rng.randrange(source_count) if rng.random() < 0.35 else None
    plan["sources"] = [draw_collector(rng) if index == collector else draw_source(rng) for index in range(source_count)]
    plan["impostor"] = rng.random() < 0.25
    names = [name for name in sorted(kinds or faults.ALL) if faults.ALL[name].can_be_done(plan)]
    weights = [faults.ALL[name].weight for name in names]
    plan["faults"] = []
    duration_ms = max(source["duration-ms"] for source in plan["sources"])
    for _ in range(rng.randint(4, 12) if names else 0):
        name = rng.choices(names, weights)[0]
        fault = {"at_ms": rng.randrange(20, duration_ms), "fault": name}
        plan["faults"].append(fault | faults.ALL[name].draw(rng, plan))
    plan["faults"].sort(key=lambda fault: fault["at_ms"])
    plan["join-batches"] = rng.choice([2, 3, 8, 40, None])
    return plan
