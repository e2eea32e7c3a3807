#!/usr/bin/env python3
"""Opens the page that `perfleet web` serves in a headless Chromium, uses it as a reader would, and compares its contents
with the command line. Needs chromium and chromium-driver (tools/setup --browser).

  tests/browser/check_application.py [--bin build/release/bin] [--pictures FOLDER]
"""
import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from check_page import Failed, NAME, Pages, check, wait_for
from webdriver import Browser, BrowserMissing

TABS = ("fleet", "explore", "subsecond", "compare", "latency", "timeline", "losses")
DRAWN = "return !document.querySelector('.busy') && document.querySelector('.content').childElementCount > 0"
SIZES = ((390, 844), (1280, 900), (1920, 1080))


@contextlib.contextmanager
def served(perfleet, *arguments):
    """The link of a `perfleet web` that runs."""
    server = subprocess.Popen([perfleet, "web", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        check(server.wait(timeout=30) == 0, f"perfleet web ended with {server.returncode}")


def origin_of(link):
    return link[:link.index("/open?")]


def show(browser, link, fragment):
    """Opens a view as a link does, with nothing left of the one before."""
    browser.visit("about:blank")
    browser.visit(origin_of(link) + "/#/" + fragment)
    wait_for(browser, DRAWN, fragment + " isn't drawn")
    time.sleep(0.2)  # a second question may begin when the first is answered
    wait_for(browser, DRAWN, fragment + " isn't drawn")
    failed = browser.run("return document.querySelector('.failed')?.textContent ?? ''")
    check(failed == "", f"{fragment}: {failed}")


def text_of(browser, selector):
    return browser.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)


def table(browser):
    return browser.run("return [...document.querySelectorAll('.list tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")


def answer_of(pages, command, *arguments):
    return json.loads(pages.run(command, "--format", "json", "--all", *arguments))


def lets_one_browser_in(browser, pages, link):
    for path in ("/api/v1/query/top", "/api/v1/export?to=folded", "/metrics"):
        try:
            urllib.request.urlopen(origin_of(link) + path, timeout=30)
            raise Failed(f"{path} is read without the cookie")
        except urllib.error.HTTPError as error:
            check(error.code == 401, f"{path}: {error.code}")
    browser.visit(link)
    wait_for(browser, DRAWN, "the page isn't drawn")
    check("/#/explore?session=" in browser.run("return location.href"), "one host's page begins with its last session")
    check(browser.run("return document.cookie") == "", "scripts can read the cookie")
    try:
        urllib.request.urlopen(link, timeout=30)
        raise Failed("the link is valid twice")
    except urllib.error.HTTPError as error:
        check(error.code == 403, f"the second opening: {error.code}")


def shows_the_totals_of_top(browser, pages, link):
    total = answer_of(pages, "top")["measure"]["total"]
    show(browser, link, "explore")
    check(browser.run("return window.page.tree.total[0]") == total, "the flame graph has another total than top")
    show(browser, link, "explore?select=" + urllib.request.quote('{share="4"}'))
    part = answer_of(pages, "top", "--select", '{share="4"}')["measure"]["total"]
    check(0 < part < total and browser.run("return window.page.tree.total[0]") == part, "a selection has another total than top")


def finds_a_window_of_a_second(browser, pages, link):
    show(browser, link, "subsecond?session=" + last_session(pages))
    answer = json.loads(pages.run("subsecond", "--format", "json", "--session", "last"))
    check("of cpu-clock" in text_of(browser, ".subtitle") or answer["measure"]["event"] in text_of(browser, ".subtitle"), text_of(browser, ".subtitle"))
    box = browser.run("const box = document.querySelector('.map canvas').getBoundingClientRect(); return [box.x, box.y, box.width, box.height]")
    x, y, width, height = box
    browser.pointer((x + 70, y + height - 40), "down", (x + 0.6 * width, y + height - 40), (x + 0.6 * width, y + 60), "up")
    wait_for(browser, "return Boolean(document.querySelector('.below .view')) && !document.querySelector('.busy')", "the window has no flame graph")
    window = browser.run("return new URLSearchParams(location.hash.split('?')[1]).get('at')").split("..")
    expected = json.loads(pages.run("top", "--format", "json", "--session", "last", "--from", window[0], "--until", window[1]))
    check(browser.run("return window.page.tree.total[0]") == expected["measure"]["total"] > 0, "the window's total isn't that of top")


def last_session(pages):
    answer = answer_of(pages, "sessions")
    return answer["rows"][-1][0]


def compares_versions(browser, pages, link):
    show(browser, link, "compare")
    browser.run("[...document.querySelectorAll('.sides button')].find((one) => one.textContent.startsWith('share')).click()")
    wait_for(browser, "return Boolean(document.querySelector('.view')) && !document.querySelector('.busy')", "nothing is compared")
    changed = browser.run("""return [...window.page.profile.verdicts].filter(([, one]) => (one.total ?? one.self).change !== 0)
        .map(([number]) => window.page.profile.name(number)).sort()""")
    check("first_half(unsigned int)" in changed or "first_half" in " ".join(changed), f"what changed is {changed}")
    state = browser.run("return location.hash").split("?")[1]
    show(browser, link, "compare?" + state + "&show=verdicts")
    diff = json.loads(pages.run("diff", "--before", '{share="1"}', "--after", '{share="4"}', "--format", "json"))
    check(len(diff["rows"]) > 3 and text_of(browser, ".table-count") == f"{len(diff['rows']):,}", f"{text_of(browser, '.table-count')} of {len(diff['rows'])} verdicts")
    verdict = [column["name"] for column in diff["columns"]].index("verdict")
    place = browser.run("return [...document.querySelectorAll('.list th')].findIndex((head) => head.textContent.startsWith('verdict'))")
    shown, told = {row[place] for row in table(browser)}, {row[verdict] for row in diff["rows"]}
    check(shown <= told and any(text.startswith("more") for text in shown), f"verdicts {shown - told} aren't those of diff")
    check(browser.run("return document.querySelectorAll('td.noise').length") > 0, "noise isn't grey")


def draws_latencies(browser, link):
    show(browser, link, "latency")
    check(len(table(browser)) >= 1, "no latency is listed")
    count = int(table(browser)[0][3].replace(",", ""))
    browser.run("document.querySelector('.list tbody button').click()")
    wait_for(browser, "return Boolean(document.querySelector('.figure')) && !document.querySelector('.busy')", "no histogram")
    counts = browser.run("return [...document.querySelectorAll('.figure .list tbody tr')].map((row) => Number(row.cells[2].textContent.replaceAll(',', '')))")
    check(sum(counts) == count > 0, f"buckets hold {sum(counts)} of {count} values")
    show(browser, link, browser.run("return location.hash").removeprefix("#/") + "&show=time")
    check(browser.run("return Boolean(document.querySelector('.figure canvas'))"), "no heat map")


def keeps_items_of_a_legend_apart(browser, link):
    show(browser, link, "fleet?by=share")
    gaps = browser.run("""const range = document.createRange();
        const walker = document.createTreeWalker(document.querySelector('.above .legend'), NodeFilter.SHOW_TEXT);
        const gaps = [];
        for (let text = walker.nextNode(), before; text; before = text, text = walker.nextNode()) {
            if (before) {
                range.selectNodeContents(before);
                const swatch = text.previousSibling.getBoundingClientRect(), end = range.getBoundingClientRect();
                gaps.push(swatch.top > end.bottom ? 'a new line' : swatch.left - end.right);
            }
        }
        return gaps""")
    check(gaps and all(gap == "a new line" or gap >= 8 for gap in gaps), f"gaps between items: {gaps}")


def keeps_names_as_text(browser, link):
    for tab in TABS:
        show(browser, link, tab)
        check(browser.run("return document.querySelectorAll('.content i, .content b:not(.sides b), .content script').length") == 0, f"{tab}: a name became an element")
    show(browser, link, "timeline")
    check(any(NAME in row[0] for row in table(browser)), "the timeline doesn't name the program")


def stands_in_its_link(browser, link):
    show(browser, link, "explore?view=icicle&search=half")
    check("2 functions" in text_of(browser, ".search-result"), f"the search of a link finds {text_of(browser, '.search-result')!r}")
    check(browser.run("return document.querySelector('.view-icicle').getAttribute('aria-checked')") == "true", "the layout of a link isn't shown")
    browser.run("document.querySelector('.view-inverted').click()")
    wait_for(browser, "return location.hash.includes('view=inverted')", "the address doesn't say what is shown")
    browser.run("document.querySelector('nav a[href*=losses]').click()")
    wait_for(browser, "return location.hash.startsWith('#/losses') && document.querySelectorAll('.list tbody tr').length > 0", "a tab doesn't open")
    browser.run("history.back()")
    wait_for(browser, "return location.hash.startsWith('#/explore') && Boolean(document.querySelector('.view'))", "back doesn't lead back")


def says_what_is_wrong(browser, link):
    browser.visit("about:blank")
    browser.visit(origin_of(link) + "/#/explore?from=yesterdayish")
    wait_for(browser, "return Boolean(document.querySelector('.failed'))", "a wrong time isn't told")
    check("yesterdayish" in text_of(browser, ".failed"), text_of(browser, ".failed"))


def fits(browser, link, picture):
    for width, height in SIZES:
        for dark in (False, True):
            browser.show_as(width, height, dark)
            for tab in TABS:
                show(browser, link, tab)
                wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth")
                check(wide <= 0, f"{tab} is {wide} pixels wider than a window of {width}")
                nameless = browser.run("""return [...document.querySelectorAll('button, input, select, canvas')].filter((one) => !one.closest('[hidden]') &&
                    !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length)).map((one) => one.outerHTML)""")
                check(not nameless, f"{tab}: without a name: {nameless}")
                picture(browser, f"{tab}-{width}-{'dark' if dark else 'light'}")
    browser.show_as(1280, 900)


def is_empty_without_rows(perfleet, folder):
    data = os.path.join(folder, "empty")
    gateway = subprocess.Popen([os.path.join(os.path.dirname(perfleet), "perfleet-gateway"), "--data", data, "--listen", "tcp://127.0.0.1:*", "--query", "none"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    gateway.stdout.readline()
    gateway.terminate()
    gateway.wait()
    with served(perfleet, "--data", data) as link, Browser() as browser:
        browser.visit(link)
        wait_for(browser, DRAWN, "an empty store's page isn't drawn")
        for tab in TABS:
            show(browser, link, tab)
        check(not browser.console(), "the page of an empty store warns")


def main():
    parser = argparse.ArgumentParser(description="Checks the page of perfleet web in a headless Chromium.")
    parser.add_argument("--bin", default="build/release/bin", help="folder of the programs (default: build/release/bin)")
    parser.add_argument("--pictures", help="folder for pictures of the views")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="perfleet-application-")

    def picture(browser, name):
        if options.pictures:
            os.makedirs(options.pictures, exist_ok=True)
            browser.screenshot(os.path.join(options.pictures, name + ".png"))

    failed = []

    def attempt(call, *arguments):
        try:
            call(*arguments)
            print(f"passed  {call.__name__}", flush=True)
        except (Failed, RuntimeError, KeyError, IndexError, subprocess.SubprocessError) as error:
            failed.append(call.__name__)
            print(f"FAILED  {call.__name__}: {error}", flush=True)

    try:
        pages = Pages(options.bin, folder)
        with served(pages.perfleet, "--data", pages.data) as link, Browser() as browser:
            attempt(lets_one_browser_in, browser, pages, link)
            for call in (shows_the_totals_of_top, finds_a_window_of_a_second, compares_versions):
                attempt(call, browser, pages, link)
            attempt(stands_in_its_link, browser, link)
            attempt(keeps_items_of_a_legend_apart, browser, link)
            attempt(fits, browser, link, picture)
            refused = [message for message in browser.console() if "401" not in message and "favicon" not in message]
            check(not refused, f"the page warns: {refused}")
            attempt(says_what_is_wrong, browser, link)
        with served(pages.perfleet, "--data", pages.figure_data) as link, Browser() as browser:
            browser.visit(link)
            wait_for(browser, DRAWN, "the page isn't drawn")
            attempt(draws_latencies, browser, link)
            attempt(keeps_names_as_text, browser, link)
            check(not browser.console(), "the page warns")
        attempt(is_empty_without_rows, pages.perfleet, folder)
    except BrowserMissing as error:
        print(f"check_application: {error}", file=sys.stderr)
        return 1
    except Failed as error:
        failed.append(str(error))
        print(f"FAILED  {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
