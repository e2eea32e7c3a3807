#!/usr/bin/env python3
"""Opens pages of `perfleet flamegraph`, `latency` and `timeline` in a headless Chromium, uses them as a reader does, and holds what they show
against the answers of perfleet's other commands. Needs chromium and chromium-driver (tools/setup --browser).

  tests/browser/check_page.py [--bin build/release/bin] [--pictures FOLDER]
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from boxes import SIZES, faults_of_charts, faults_of_controls, faults_of_frames
from webdriver import Browser, BrowserMissing

WAIT_S = 60
RUNS = 4  # a side
DEPTH_MAX = 20  # of main, below the program's start
MATCHES_MAX = 50
ENTER, ESCAPE, UP, RIGHT, DOWN, SHIFT = "\ue007", "\ue00c", "\ue013", "\ue014", "\ue015", "\ue008"
# Two functions that take turns, below one that calls itself.
WORKLOAD = """
#include <cstdlib>
#include <ctime>
volatile unsigned sink;
__attribute__((always_inline)) inline void spin(unsigned count) { for (unsigned i = 0; i < count; ++i) { sink = sink + i; } }
__attribute__((noinline)) void first_half(unsigned count) { spin(count); sink = sink + 1; }
__attribute__((noinline)) void second_half(unsigned count) { spin(count); sink = sink + 2; }
__attribute__((noinline)) void recursive(int depth, unsigned share) {
    if (depth > 0) { recursive(depth - 1, share); spin(1000); return; }
    first_half(20000 * share);
    second_half(20000);
}
int main(int, char** arguments) {
    const std::clock_t end = std::clock() + CLOCKS_PER_SEC;
    while (std::clock() < end) { recursive(3, std::atoi(arguments[1])); }
}
"""
NAME = "<b>&<i x=1>"  # of the program: as a command and as an image


class Failed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failed(what)


class Pages:
    def __init__(self, programs, folder):
        self.perfleet = os.path.join(os.path.abspath(programs), "perfleet")
        self.folder = folder
        self.data = os.path.join(folder, "data")
        source = os.path.join(folder, "workload.cpp")
        with open(source, "w") as file:
            file.write(WORKLOAD)
        self.program = os.path.join(folder, NAME)
        subprocess.run(["g++", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", self.program, source],
                       check=True)
        self.figure_data = os.path.join(folder, "figures")
        values = os.path.join(folder, "values")
        with open(values, "w") as file:
            file.write("<b>&latency (us)\n" + "".join(f"{100 + 7 * i % 31 + (900 if i % 97 == 0 else 0)}.5\n" for i in range(1000)))
        decades = os.path.join(folder, "decades")
        with open(decades, "w") as file:
            file.write("request (ns)\n" + "".join(f"{400 + int(10 ** (2 + i * 7919 % 5000 / 1000))}\n" for i in range(5000)))
        for name in (decades, values):
            subprocess.run([self.perfleet, "import", "--data", self.figure_data, "--format", "columns", name], check=True,
                           stderr=subprocess.PIPE)
        subprocess.run([self.perfleet, "record", "-q", "--data", self.figure_data, "-a", "-e", "sched:sched_switch", "--",
                        self.program, "1"], check=True, stderr=subprocess.PIPE)
        for share in ("1", "4"):
            for _ in range(RUNS):  # diff compares runs
                self.run("record", "-q", "-F", "999", "-g", "--label", f"share={share}", "--", self.program, share)

    def run(self, *arguments):
        return subprocess.run([self.perfleet, arguments[0], "--data", self.data, *arguments[1:]], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout

    def page(self, name, *arguments):
        path = os.path.join(self.folder, name)
        self.run("flamegraph", "--measure", "samples", "-o", path, *arguments)
        return path

    # Of sessions in a folder of their own; the page and what the command prints.
    def figure(self, name, command, *arguments):
        path = os.path.join(self.folder, name)
        answer = subprocess.run([self.perfleet, command, "--data", self.figure_data, "-o", path, *arguments], check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
        return path, answer

    # self and children of each function, by everything that distinguishes them.
    def functions(self, *arguments):
        answer = json.loads(self.run("top", "--by", "symbol", "--measure", "samples", "--format", "json", *arguments))
        column = {one["name"]: i for i, one in enumerate(answer["columns"])}
        return {row[column["symbol"]]: (row[column["self"]], row[column["children"]]) for row in answer["rows"]}


def wait_for(browser, script, what):
    end = time.monotonic() + WAIT_S
    while not browser.run(script):
        check(time.monotonic() < end, what)
        time.sleep(0.02)


def type_search(browser, text):
    browser.run("const s = document.querySelector('.search'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));", text)
    return browser.run("return document.querySelector('.search-result').textContent")


def live(browser):
    return browser.run("return document.querySelector('.live').textContent")


def text_of(browser, selector):
    return browser.run("return document.querySelector(arguments[0]).innerText", selector)


def shows_what_top_counts(browser, pages):
    browser.open(pages.page("one.html", "--session", "last"))
    functions = pages.functions("--session", "last")
    total = sum(own for own, _ in functions.values())
    check(f"{total:,} samples" in text_of(browser, ".subtitle"), "the page's samples aren't those of top")
    rows = browser.run("return [...document.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))")
    check(len(rows) >= 4, "the table has too few rows")
    for own, children, name, _ in rows:
        if name in functions:
            expected = [f"{100 * value / total:.2f}" for value in functions[name]]
            check([own, children] == expected, f"{name}: {own} {children}, not {expected}")
    check(browser.run("return document.querySelector('.colour').value") == "function", "a program of one image has one colour")
    browser.run("const c = document.querySelector('.colour'); c.value = 'image'; c.dispatchEvent(new Event('change'))")
    check(NAME in browser.run("return document.querySelector('.legend').textContent"), "the image isn't in the legend")
    check(browser.run("return document.querySelectorAll('b, i').length") == 0, "a name became an element")


def loads_nothing(browser, pages):
    browser.open(pages.page("nothing.html", "--session", "last"))
    check(browser.run("return performance.getEntriesByType('resource').length") == 0, "the page loaded something")
    browser.run("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    check(browser.run("return window.ran === undefined"), "another script ran")
    check(any("Content Security Policy" in line for line in browser.console()), "nothing refused it")


def searches(browser, pages):
    browser.open(pages.page("search.html", "--session", "last"))
    functions = pages.functions("--session", "last")
    total = sum(own for own, _ in functions.values())
    said = type_search(browser, "recursive")
    check(said.startswith("1 function, ") and said.endswith(f" frames, {100 * functions['recursive'][1] / total:.2f} %"),
          f"found {said}")
    check(type_search(browser, "/^(first|second)_half/").startswith("2 functions"), "a pattern finds both halves")
    check("no valid pattern" in type_search(browser, "/(/"), "a bad pattern is said")
    check(type_search(browser, "") == "", "an empty search has no result")


# Matches narrower than a pixel are marked, and Enter goes to the largest one first.
def finds_the_smallest_and_goes_to_the_largest(browser, pages):
    browser.open(pages.page("matches.html", "--session", "last"))
    functions = pages.functions("--session", "last")
    name = min(functions, key=lambda one: (functions[one][1], one))
    check(functions[name][1] <= 3, f"{name} is the smallest, and has {functions[name]} samples")
    said = type_search(browser, name)
    check(said.startswith("1 function, "), f"{name}: {said}")
    browser.run("""window.filled = 0;
        const { fillRect } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.fillRect = function (x, y, width, height) {
            window.filled += this.fillStyle === '#c026d3' && width >= 3 && height > 10 ? 1 : 0;
            fillRect.call(this, x, y, width, height);
        };
        const graph = document.querySelector('.main-graph');
        graph.scrollTop = 0;
        window.page.draw();""")
    for _ in range(20):  # it may be in any part of a high graph
        wait_for(browser, "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))", "no frame")
        if browser.run("const graph = document.querySelector('.main-graph'); const seen = window.filled; graph.scrollTop += graph.clientHeight / 2; return seen"):
            break
    check(browser.run("return window.filled") > 0, f"{name} isn't marked")
    type_search(browser, "/./")
    browser.run("document.querySelector('.search').focus()")
    browser.keys(ENTER)
    largest = browser.run("const { tree, total } = window.page.graph; return total.slice(1).reduce((best, one) => Math.max(best, one), 0)")
    check(f"{largest:,} samples" in live(browser), f"Enter goes to {live(browser)}, not to a frame of {largest}")
    browser.keys(ENTER)
    check(f"{largest:,} samples" not in live(browser) or "100.00" in live(browser), "the next Enter stays there")


def stands_in_its_boxes(browser, pages, picture):
    for name, arguments in (("one", ["--session", "last"]), ("two", ["--all", "--select", '{share="4"}', "--before", '{share="1"}'])):
        path = pages.page(f"boxes_{name}.html", *arguments)
        for width, height in SIZES:
            for dark in (False, True):
                where = f"{name}, {width}, {'dark' if dark else 'light'}"
                browser.show_as(width, height, dark)
                browser.open(path)
                for colour in browser.run("return [...document.querySelector('.colour').options].filter((one) => !one.disabled).map((one) => one.value)"):
                    browser.run("const c = document.querySelector('.colour'); c.value = arguments[0]; c.dispatchEvent(new Event('change'))", colour)
                    faults = [*faults_of_frames(browser), *faults_of_controls(browser)]
                    check(not faults, f"{where}, {colour}: {faults[:3]}")
                before = browser.run("return document.querySelector('.main-graph').getBoundingClientRect().top")
                type_search(browser, "half")
                faults = [*faults_of_frames(browser), *faults_of_controls(browser)]
                check(not faults, f"{where}, searched: {faults[:3]}")
                check(browser.run("return document.querySelector('.main-graph').getBoundingClientRect().top") == before, f"{where}: the toolbar jumps")
                picture(browser, f"boxes_{name}_{width}_{'dark' if dark else 'light'}")


# By tapping and pinching: details stay within the visible part.
def is_used_by_fingers(browser, pages):
    browser.show_as(390, 844)
    browser.open(pages.page("fingers.html", "--session", "last"))
    x, y, right = browser.run("const box = document.querySelector('.main-graph').getBoundingClientRect(); return [box.x, box.bottom - 30, box.right]")
    browser.touch([((x + right) / 2, y)])
    top, bottom, text = browser.run("const frame = document.querySelector('.frame'), box = frame.getBoundingClientRect(); return [box.top, box.bottom, frame.innerText]")
    check(0 <= top < bottom <= 844 and "self" in text, f"details of {text} stand from {top} to {bottom}")
    browser.run("scrollTo(0, 300)")
    check(browser.run("return document.querySelector('.frame').getBoundingClientRect().top") >= 0, "details scroll away")
    browser.run("scrollTo(0, 0)")
    whole = browser.run("return window.page.graph.to - window.page.graph.from")
    browser.touch([(x + 150, y), (x + 100, y), (x + 50, y)], [(x + 200, y), (x + 250, y), (x + 300, y)])
    part = browser.run("return window.page.graph.to - window.page.graph.from")
    check(part < whole / 3, f"a pinch shows {part} of {whole}")


def walks_by_keyboard(browser, pages):
    browser.open(pages.page("keys.html", "--session", "last"))
    browser.run("document.querySelector('.main-graph canvas').focus()")
    for depth in range(1, DEPTH_MAX):
        browser.keys(UP)
        if live(browser).startswith("recursive"):
            break
    check(f"depth {depth}" in live(browser) and live(browser).startswith("recursive"), f"{depth} keys up from the root are {live(browser)}")
    browser.keys("i")
    check(browser.run("return document.querySelector('.view-icicle').getAttribute('aria-checked')") == "true", "i shows icicles")
    browser.keys("s")
    check(browser.run("return !document.querySelector('.callers-graph').hidden"), "s shows callers and callees")
    browser.keys("f", "/")
    check(browser.run("return document.activeElement.className") == "search", "/ goes to the search")
    browser.keys(*"first_", ENTER)
    check(live(browser).startswith("first_half"), f"Enter goes to the match, not to {live(browser)}")
    browser.keys(ESCAPE, "?")
    check(browser.run("return document.querySelector('dialog').open"), "? shows the keys")


def zooms_by_pointer(browser, pages, kind):
    browser.open(pages.page(f"{kind}.html", "--session", "last"))
    x, y = browser.run("const box = document.querySelector('.main-graph').getBoundingClientRect(); return [box.x + box.width / 3, box.bottom - 50]")
    browser.click(x, y, kind=kind)
    name = text_of(browser, ".frame h2")
    check(name != "all", "a click selects no frame")
    browser.run("document.querySelector('.reset').click()")


def selects_time(browser, pages):
    browser.open(pages.page("time.html", "--session", "last"))
    box = browser.run("const box = document.querySelector('.strip').getBoundingClientRect(); return [box.x, box.y, box.width, box.height]")
    browser.pointer((box[0] + box[2] / 4, box[1] + 10), "down", (box[0] + box[2] / 2, box[1] + 10), "up")
    text = text_of(browser, ".strip-text")
    samples = int(text.split(" samples")[0].split(", ")[-1].replace(",", ""))
    data = browser.run("return window.page.data")
    start, width, count = int(data["slices"]["start_ns"]), int(data["slices"]["width_ns"]), data["slices"]["count"]
    first, last = count // 4, count // 2 + 1

    def stamp(ns):
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10**9)) + f".{ns % 10**9:09d}Z"

    functions = pages.functions("--session", "last", "--from", stamp(start + first * width), "--until", stamp(start + last * width))
    check(samples == sum(own for own, _ in functions.values()), f"{text}: top has {sum(own for own, _ in functions.values())}")
    browser.click(box[0] + 5, box[1] + 10)
    check("drag to select" in text_of(browser, ".strip-text"), "a click selects all time")


def compares(browser, pages):
    browser.open(pages.page("same.html", "--session", "last", "--before", "last"))
    changes = browser.run("return window.page.data.before.verdicts.change")
    check(changes and not any(changes), "a session differs from itself")
    browser.open(pages.page("changed.html", "--all", "--select", '{share="4"}', "--before", '{share="1"}'))
    rows = browser.run("return [...document.querySelectorAll('tbody tr')].map((row) => [row.children[3].textContent, row.children[2].className])")
    styles = {name.split("(")[0]: style for name, style in rows}
    check("more" in styles["first_half"] and "less" in styles["second_half"], f"first_half takes more than before: {styles}")
    check("noise" in styles["__libc_start_call_main"], "all is below it, as before")


def details_are_those_of_the_list(browser, pages):
    browser.open(pages.page("details.html", "--session", "last"))
    functions = pages.functions("--session", "last")
    total = sum(own for own, _ in functions.values())
    shares = [f"{100 * value / total:.2f} %" for value in functions["recursive"]]
    browser.run("document.querySelector('.main-graph canvas').focus()")
    type_search(browser, "recursive")
    browser.run("document.querySelector('.search-next').click()")
    terms = browser.run("return Object.fromEntries([...document.querySelectorAll('.frame dt')].map((one) => [one.textContent, one.nextSibling.textContent]))")
    check(shares[0] in terms["self"] and shares[1] in terms["total"] and "its self" in terms, f"{terms}: not {shares}")
    # Zoom lists the functions within; another view keeps the selection.
    type_search(browser, "")
    everything = browser.run("return document.querySelectorAll('tbody tr').length")
    type_search(browser, "first_half")
    browser.run("document.querySelector('.search-next').click()")
    type_search(browser, "")
    browser.run("document.querySelector('.main-graph canvas').focus()")
    browser.keys(ENTER)
    check("within first_half" in text_of(browser, ".table-count"), text_of(browser, ".table-count"))
    check(browser.run("return document.querySelectorAll('tbody tr').length") < everything, "zoom lists as many functions")
    for key in ("v", "s", "i", "f"):
        browser.keys(key)
        check(text_of(browser, ".frame h2").startswith("first_half"), f"{key}: {text_of(browser, '.frame h2')} is selected")


def inverts(browser, pages):
    browser.open(pages.page("inverted.html", "--session", "last"))
    functions = pages.functions("--session", "last")
    browser.run("document.querySelector('.main-graph canvas').focus()")
    browser.keys("v")
    check(browser.run("return document.querySelector('.view-inverted').getAttribute('aria-checked')") == "true", "v inverts")
    browser.run("const o = document.querySelector('.order'); o.value = 'size'; o.dispatchEvent(new Event('change'));")
    browser.run("document.querySelector('.main-graph canvas').focus()")
    browser.keys(UP)
    name, self = live(browser).split(",")[0], max(own for own, _ in functions.values())
    check(functions[name][0] == self, f"{name} stands at the bottom, and has {functions[name]} samples; {self} is the most")
    check(f"{self:,} samples" in live(browser), f"{live(browser)}: not {self} samples")
    check("[" in text_of(browser, ".frame dd"), f"{text_of(browser, '.frame')} has no interval")
    browser.open(pages.page("inverted_changed.html", "--all", "--select", '{share="4"}', "--before", '{share="1"}'))
    browser.run("document.querySelector('.main-graph canvas').focus()")
    browser.keys("v")
    found = type_search(browser, "second_half")
    for _ in range(MATCHES_MAX):  # functions of the kernel that interrupted it have it as a caller
        browser.run("document.querySelector('.search-next').click()")
        details = text_of(browser, ".frame")
        if "diff, self of second_half" in details:
            break
    check("points" in details and "diff, self of second_half" in details, f"{found}: {details}")


# In layouts whose frames aren't those of the call tree. Rows of the list: self and total, of all samples.
def zoom_lists_what_is_within(browser, pages):
    browser.open(pages.page("within.html", "--session", "last"))
    functions = pages.functions("--session", "last")
    total = sum(own for own, _ in functions.values())

    def listed():
        rows = browser.run("return [...document.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))")
        return {name: (own, children) for own, children, name, _ in rows}

    def zoom(*keys):
        browser.run("document.querySelector('.main-graph canvas').focus()")
        browser.keys(*keys)

    everything = listed()
    zoom("v")
    check(listed() == everything, "the inverted graph lists other functions")
    browser.run("const o = document.querySelector('.order'); o.value = 'size'; o.dispatchEvent(new Event('change'));")
    zoom(UP, ENTER)
    name = live(browser).split(",")[0]
    share = f"{100 * functions[name][0] / total:.2f}"
    check(f"within {name};" in text_of(browser, ".table-count"), text_of(browser, ".table-count"))
    check({one for one, (own, _) in listed().items() if own != "0.00"} == {name}, f"own samples of others than {name}: {listed()}")
    check(listed()[name] == (share, share) and listed()["main"] == ("0.00", share), f"{listed()}: not {share}")
    wait_for(browser, "return document.querySelector('tbody td').title.includes('[')", "the zoomed list has no interval")
    zoom("0")
    check(listed() == everything, "zooming out doesn't list all")
    browser.run("location.hash = '#view=sandwich&function=recursive'")
    wait_for(browser, "return document.querySelector('.sandwich-function').value === 'recursive'", "no callees of recursive")
    type_search(browser, "/^first_half$/")
    browser.run("document.querySelector('.search-next').click()")
    type_search(browser, "")
    zoom(ENTER)
    check("within first_half;" in text_of(browser, ".table-count"), text_of(browser, ".table-count"))
    check(len(listed()) < len(everything) and listed()["first_half"] == everything["first_half"], f"{listed()} of {everything}")
    zoom("0")
    browser.run("document.querySelector('.callers-graph canvas').focus()")
    browser.keys(UP, ENTER)
    check("within main;" in text_of(browser, ".table-count"), text_of(browser, ".table-count"))
    check("main" not in listed() and listed()["recursive"] == everything["recursive"], f"{listed()} of {everything}")
    browser.run("const s = document.querySelector('.sandwich-function'); s.value = 'main'; s.dispatchEvent(new Event('change'));")
    check(text_of(browser, ".sandwich-head").find("100") > 0 and listed() == everything, f"main: {text_of(browser, '.sandwich-head')}")


def links_lead_to_a_view(browser, pages):
    path = pages.page("linked.html", "--session", "last")
    browser.open(path)
    browser.run("document.querySelector('.main-graph canvas').focus()")
    type_search(browser, "first")
    browser.keys("i", DOWN, DOWN, ENTER)
    wait_for(browser, "return location.hash.includes('view=icicle') && location.hash.includes('zoom=')", "the address has no view")
    link = browser.run("return location.href")
    shown = browser.run("return document.querySelector('.frame').innerText")
    browser.open(path)
    check(browser.run("return document.querySelector('.view-flame').getAttribute('aria-checked')") == "true", "a page begins as a flame graph")
    browser.run("location.hash = arguments[0]", link.split("#")[1])
    wait_for(browser, "return document.querySelector('.view-icicle').getAttribute('aria-checked') === 'true'", "the link isn't followed")
    check(browser.run("return document.querySelector('.search').value") == "first", "the search isn't in the link")
    check(browser.run("return document.querySelector('.frame').innerText") == shown, "another frame is shown")
    browser.run("location.hash = '#view=sandwich&function=recursive'")
    wait_for(browser, "return !document.querySelector('.callers-graph').hidden", "no callers and callees")
    check(browser.run("return document.querySelector('.sandwich-function').value") == "recursive", "of another function")
    browser.run("location.hash = '#view=nonsense&zoom=99999999&from=9&to=2&colour=change'")
    wait_for(browser, "return document.querySelector('.view-flame').getAttribute('aria-checked') === 'true'", "nonsense isn't the beginning")


# As an application shows them: the second one's class is that of the page's own view.
def views_stand_beside_each_other(browser, pages):
    browser.open(pages.page("two.html", "--session", "last"))
    browser.run("""const root = document.body.appendChild(document.createElement('div'));
        window.said = {};
        window.second = new window.page.constructor(root, window.page.data, { state: { view: 'icicle', search: 'first' }, onState: (state) => window.said = state });""")
    shown = "return [window.page, window.second].map((view) => view.state().view ?? 'flame')"
    check(browser.run(shown) == ["flame", "icicle"], "the second view doesn't begin with its state")
    check(browser.run("return document.querySelectorAll('[id]').length") == 3, "ids beside those of the data and of lists")
    browser.run("window.second.part('main-graph').querySelector('canvas').focus()")
    browser.keys("v")
    check(browser.run(shown) == ["flame", "inverted"], f"a key is for the view that is used: {browser.run(shown)}")
    check(browser.run("return window.said") == {"view": "inverted", "search": "first"}, f"it reports {browser.run('return window.said')}")
    browser.run("window.second.destroy()")
    browser.keys("i", "d")
    check(browser.run(shown) == ["icicle", "inverted"], "a view that was removed has keys")
    check(browser.run("return document.querySelectorAll('.view').length") == 1, "a view that was removed is there")


# Rows of the table beside a figure, as texts.
def table(browser):
    return browser.run("return [...document.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))")


def draws_histograms(browser, pages):
    path, answer = pages.figure("histogram.html", "latency", "--session", "last", "--histogram", "linear", "--format", "json")
    browser.open(path)
    counts = [row[2] for row in json.loads(answer)["rows"]]
    check([int(row[2].replace(",", "")) for row in table(browser)] == counts, f"the table has {table(browser)}, not {counts}")
    check(text_of(browser, "h1") == "<b>&latency", "the title is the column's name")
    browser.run("document.querySelector('.main-graph canvas').focus()")
    browser.keys(RIGHT, RIGHT)
    check(f"; {counts[1]:,} values, " in live(browser), f"the second bar is {live(browser)}")
    browser.run("document.querySelector('.view-cumulative').click()")
    check(browser.run("return window.figure.chart.isCumulative") is True, "the button shows shares")
    wait_for(browser, "return location.hash === '#view=cumulative&item=1'", "the address isn't that of the second bar's shares")
    browser.open(path)
    check(live(browser) == "", "a bar is selected")
    browser.run("location.hash = '#view=cumulative&item=1'")
    wait_for(browser, "return window.figure.chart.isCumulative && window.figure.chart.selected === 1", "the link isn't followed")


def draws_heat_maps(browser, pages):
    path, answer = pages.figure("heat.html", "latency", "--session", "last", "--heat-map", "--format", "json")
    browser.open(path)
    rows = json.loads(answer)["rows"]
    check(browser.run("return window.figure.chart.counts.reduce((a, b) => a + b)") == sum(row[5] for row in rows) == 1000,
          "cells hold each value once")
    check(table(browser)[0][2] == "1028.5", f"the greatest value stands first, not {table(browser)[0]}")
    browser.run("document.querySelector('.main-graph canvas').focus()")
    browser.keys(RIGHT, RIGHT)
    check(" in this time, " in live(browser), f"the second cell is {live(browser)}")


# Values from 500 ns to 10 ms.
def draws_decades_by_their_logarithm(browser, pages):
    path, answer = pages.figure("heat_decades.html", "latency", "--session", "last~1", "--heat-map", "--format", "json")
    rows = json.loads(answer)["rows"]
    browser.open(path)
    check(browser.run("return window.figure.chart.isLog && !window.figure.chart.hasRest"), "steps of the heat map don't grow")
    check(browser.run("return window.figure.chart.counts.reduce((a, b) => a + b)") == sum(row[5] for row in rows) == 5000, "cells hold each value once")
    faults = list(faults_of_charts(browser))
    texts = browser.run("return window.textsDrawn.map((one) => one.text)")
    check({"1 us", "100 us", "10 ms"} <= set(texts) and not faults, f"the axis has {texts}: {faults[:3]}")
    check("in a cell" in text_of(browser, ".legend"), "colours of cells aren't explained")
    check("UTC: perfleet import " in text_of(browser, ".subtitle"), text_of(browser, ".subtitle"))
    path, _ = pages.figure("histogram_decades.html", "latency", "--session", "last~1", "--histogram", "linear")
    browser.open(path)
    check(browser.run("return document.querySelector('.view-logarithmic').getAttribute('aria-checked')") == "true", "decades are drawn by equal steps")
    counts = [int(row[2].replace(",", "")) for row in table(browser)]
    check(sum(counts) == 5000 and len(counts) == 16, f"powers of two hold {counts}")
    browser.run("document.querySelector('.view-counts').click()")
    check(len(table(browser)) == 21, "counts are those of equal steps")


def figures_stand_in_their_boxes(browser, pages, picture):
    figures = {"histogram": ["latency", "--session", "last", "--histogram", "linear"], "decades": ["latency", "--session", "last~1", "--histogram", "cumulative"],
               "heat": ["latency", "--session", "last", "--heat-map"], "heat_decades": ["latency", "--session", "last~1", "--heat-map"],
               "timeline": ["timeline", "--session", "last"]}
    for name, command in figures.items():
        path, _ = pages.figure(f"boxes_{name}.html", *command)
        for width, height in SIZES:
            for dark in (False, True):
                browser.show_as(width, height, dark)
                browser.open(path)
                layouts = browser.run("return window.figure.chart.layouts.length")
                for layout in range(max(layouts, 1)):
                    browser.run("document.querySelectorAll('.layouts button')[arguments[0]]?.click()", layout)
                    faults = [*faults_of_charts(browser), *faults_of_controls(browser)]
                    check(not faults, f"{name}, {width}, {'dark' if dark else 'light'}, layout {layout}: {faults[:3]}")
                    picture(browser, f"boxes_{name}_{layout}_{width}_{'dark' if dark else 'light'}")


def draws_schedules(browser, pages):
    path, _ = pages.figure("timeline.html", "timeline", "--session", "last")
    browser.open(path)
    rows = table(browser)
    check(any(row[0].startswith(NAME) for row in rows), f"the workload isn't among {rows[:5]}")
    check(browser.run("""const { data, thread, length } = window.figure.chart;
        const sums = data.schedule.threads.name.map(() => 0);
        thread.forEach((number, i) => sums[number] += length[i]);
        return sums.every((sum, i) => sum === data.schedule.threads.running_ns[i])"""), "runs add up to the table")
    check(browser.run("return window.figure.chart.drawn > 0"), "runs are drawn")
    browser.run("document.querySelector('.main-graph canvas').focus()")
    browser.keys(RIGHT)
    first = live(browser)
    check("CPU 0, at " in first, f"the first run is {first}")
    browser.keys(RIGHT, ENTER)
    check(live(browser) != first and not browser.run("return window.figure.chart.isWhole()"), "Enter zooms to the next run")
    chosen, begin = live(browser), browser.run("return window.figure.chart.from")
    x, y, width = browser.run("const box = document.querySelector('.main-graph canvas').getBoundingClientRect(); return [box.x, box.y, box.width]")
    browser.pointer((x + 0.9 * width, y + 40), "down", (x + 0.6 * width, y + 40), "up")
    check(browser.run("return window.figure.chart.from") > begin, "a drag to the left shows what comes later")
    check(live(browser) == chosen, f"a drag selects {live(browser)}")
    browser.keys("0")
    check(browser.run("return window.figure.chart.isWhole()"), "0 shows all")
    lanes, least = browser.run("const { chart } = window.figure; return [chart.lanes().length * (chart.laneHeight + 5), chart.height - 45]")
    check(lanes >= least, f"lanes are {lanes} pixels high, of {least}")
    check(NAME in text_of(browser, ".legend"), "the legend doesn't name the workload")
    browser.pointer((x + 0.6 * width, y + 60))
    for _ in range(6):
        browser.keys("+")
    tip, there = browser.run("""const { chart } = window.figure; const box = chart.canvas.getBoundingClientRect();
        const item = chart.itemAt(arguments[0] - box.x, arguments[1] - box.y);
        return [document.querySelector('.tip b')?.textContent ?? '', item < 0 ? '' : chart.describe(item)[0]]""", int(x + 0.6 * width), int(y + 60))
    check(tip == there, f"the tip says {tip}, the pointer is at {there}")
    whole = browser.run("return window.figure.chart.to - window.figure.chart.from")
    browser.touch([(x + 250, y + 60), (x + 230, y + 60), (x + 200, y + 60)], [(x + 300, y + 60), (x + 320, y + 60), (x + 350, y + 60)])
    part = browser.run("return window.figure.chart.to - window.figure.chart.from")
    check(part < whole / 2, f"a pinch shows {part} of {whole}")
    browser.run("document.querySelector('.main-graph canvas').focus()")
    browser.keys("0")
    browser.run("document.querySelector('.view-threads').click()")
    check(len(browser.run("return window.figure.chart.lanes()")) == browser.run("return window.figure.chart.threads.name.length"),
          "a lane a thread")
    browser.run("const s = document.querySelector('.search'); s.value = '<B>&'; s.dispatchEvent(new Event('input'))")
    check(text_of(browser, ".search-result").startswith("1 thread"), text_of(browser, ".search-result"))
    browser.run("document.querySelector('.search').focus()")
    browser.keys(ENTER)
    check(live(browser).startswith(NAME), f"Enter goes to {live(browser)}")
    check(browser.run("return document.querySelectorAll(':not(.tip) > b, i').length") == 0, "a name became an element")
    check(browser.run("return performance.getEntriesByType('resource').length") == 0, "the page loaded something")


def of_nothing_is_empty(browser, pages):
    browser.open(pages.page("nobody.html", "--session", "last", "--comm", "nobody"))
    check("nothing to show" in text_of(browser, ".warnings"), "the page doesn't say that it is empty")
    path, _ = pages.figure("never.html", "timeline", "--session", "last", "--comm", "nobody")
    browser.open(path)
    check("the file is empty" in text_of(browser, ".warnings"), "the timeline doesn't say that it is empty")


def everything_has_a_name(browser, pages):
    browser.open(pages.page("names.html", "--session", "last"))
    nameless = browser.run("""return [...document.querySelectorAll('button, input, select, canvas, section')].filter((one) =>
        !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length)).map((one) => one.outerHTML)""")
    check(not nameless, f"without a name: {nameless}")


def is_dark_where_the_reader_likes(pages, picture):
    with Browser(dark=True) as browser:
        browser.open(pages.page("dark.html", "--session", "last"))
        check(browser.run("return document.documentElement.dataset.theme") == "dark", "the page is light")
        picture(browser, "dark")
        check(not browser.console(), "the page warns")


def fits_a_phone(pages, picture):
    with Browser(width=500, height=800) as browser:
        browser.open(pages.page("phone.html", "--session", "last"))
        check(browser.run("return document.documentElement.scrollWidth <= window.innerWidth"), "the page is wider than the window")
        picture(browser, "phone")


def main():
    parser = argparse.ArgumentParser(description="Checks the pages of perfleet in a headless Chromium.")
    parser.add_argument("--bin", default="build/release/bin", help="folder of the programs (default: build/release/bin)")
    parser.add_argument("--pictures", help="folder for a picture of each page")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="perfleet-page-")

    def picture(browser, name):
        if options.pictures:
            os.makedirs(options.pictures, exist_ok=True)
            browser.screenshot(os.path.join(options.pictures, name + ".png"))

    failed = []

    def attempt(name, call):
        try:
            call()
            print(f"passed  {name}")
        except (Failed, RuntimeError, KeyError, subprocess.CalledProcessError) as error:
            failed.append(name)
            print(f"FAILED  {name}: {error}")

    try:
        with Browser() as browser:
            pages = Pages(options.bin, folder)
            for step in (shows_what_top_counts, searches, finds_the_smallest_and_goes_to_the_largest, walks_by_keyboard, selects_time, compares, details_are_those_of_the_list, inverts, zoom_lists_what_is_within, links_lead_to_a_view, views_stand_beside_each_other,
                         draws_histograms, draws_heat_maps, draws_decades_by_their_logarithm, draws_schedules, of_nothing_is_empty, everything_has_a_name):
                attempt(step.__name__, lambda step=step: (step(browser, pages), picture(browser, step.__name__)))
                warnings = browser.console()
                attempt(step.__name__ + ", console", lambda lines=warnings: check(not lines, lines))
            attempt("stands_in_its_boxes", lambda: stands_in_its_boxes(browser, pages, picture))
            attempt("figures_stand_in_their_boxes", lambda: figures_stand_in_their_boxes(browser, pages, picture))
            attempt("is_used_by_fingers", lambda: is_used_by_fingers(browser, pages))
            browser.show_as(1280, 800)
            for kind in ("mouse", "touch"):
                attempt("zooms by " + kind, lambda kind=kind: zooms_by_pointer(browser, pages, kind))
            attempt("loads_nothing", lambda: loads_nothing(browser, pages))
        attempt("is_dark_where_the_reader_likes", lambda: is_dark_where_the_reader_likes(pages, picture))
        attempt("fits_a_phone", lambda: fits_a_phone(pages, picture))
    except BrowserMissing as missing:
        print(f"skipped: {missing}")
        return 0
    finally:
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
