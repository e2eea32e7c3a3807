"""The section of figures from the raw runs: medians, ratios of medians, and intervals by the bootstrap over runs."""
import os
import random
import statistics

from figures import FIGURES

DRAWS = 2000
LEVEL = 0.95


def figure_of(run):
    """(median or ratio of medians, low, high); low and high are None for a single run."""
    ours, peer = run["ours"], run.get("peer")

    def value(numbers):
        own = statistics.median(ours[number] for number in numbers)
        return own / statistics.median(peer[number] for number in numbers) if peer else own

    count = min(len(ours), len(peer)) if peer else len(ours)
    at = value(range(count))
    if count < 3:
        return at, None, None
    draw = random.Random(1)
    drawn = sorted(value([draw.randrange(count) for _ in range(count)]) for _ in range(DRAWS))
    tail = round(DRAWS * (1 - LEVEL) / 2)
    return at, drawn[tail], drawn[-1 - tail]


def row_of(name, run):
    figure = FIGURES[name]
    at, low, high = figure_of(run)
    shown = lambda value: f"{value:,.{figure.digits}f}"
    between = "" if low is None else f" ({shown(low)} to {shown(high)})"
    medians = ""
    if figure.peer:
        own, peer = statistics.median(run["ours"]), statistics.median(run["peer"])
        medians = f"{own:,.3g} : {peer:,.3g}" if max(own, peer) < 10000 else f"{own:,.0f} : {peer:,.0f}"
    goal = f"≤ {figure.goal:g}"
    verdict = "reached" if at <= figure.goal else "**missed**"
    against = figure.peer or "—"
    return f"| {figure.what} | **{shown(at)} {figure.unit}**{between} | {medians} | {against} | {goal} | {verdict} |"


def table(runs, names):
    lines = ["| what | measured (95 % interval) | medians | against | goal | |", "|---|---|---|---|---|---|"]
    return "\n".join(lines + [row_of(name, runs[name]) for name in names if name in runs])


HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- from here on by tools/bench -->\n", "<!-- to here by tools/bench -->\n"


def render(bench):
    """The section's text. page.in has a line `@table PREFIX…` in the place of each table, and {date} and the like."""
    with open(os.path.join(HERE, "page.in"), encoding="utf-8") as template:
        template_lines = template.read().splitlines()
    lines = []
    for line in template_lines:
        if line.startswith("@table "):
            prefixes = tuple(line.split()[1:])
            line = table(bench["runs"], [name for name in FIGURES if name.startswith(prefixes)])
        lines.append(line)
    text = "\n".join(lines) + "\n"
    for key in ("date", "commit", "machine", "rounds", "seconds", "load_average"):
        text = text.replace("{" + key + "}", str(bench[key]))
    return text


def section_of(text):
    """(before, the section, after) of a page's text; the section stands between the lines BEGIN and END."""
    before, begin, rest = text.partition(BEGIN)
    section, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("no section begins with the line " + BEGIN.strip())
    return before + begin, section, end + after
