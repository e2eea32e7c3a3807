"""Where a page's texts and controls stand: within their boxes, apart from each other, and in colours that can be distinguished."""

SIZES = ((390, 844), (1280, 800), (1920, 1080))
CONTRAST_MIN = 4.5  # of text and what is behind it (WCAG 2, AA)

# Everything that is drawn again, with the rectangle that was filled before each text.
RECORD = """
window.textsDrawn = [];
if (!window.isRecorded) {
    window.isRecorded = true;
    const { fillText, fillRect } = CanvasRenderingContext2D.prototype;
    const fills = new Map();
    CanvasRenderingContext2D.prototype.fillRect = function (x, y, width, height) {
        fills.set(this.canvas, { left: x, top: y, right: x + width, bottom: y + height, colour: this.fillStyle, alpha: this.globalAlpha });
        fillRect.call(this, x, y, width, height);
    };
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        const size = this.measureText(text);
        const begin = x - ({ center: size.width / 2, right: size.width, end: size.width }[this.textAlign] ?? 0);
        const matrix = this.getTransform();
        const ratio = devicePixelRatio;
        const corners = [[begin, y - size.actualBoundingBoxAscent], [begin + size.width, y + size.actualBoundingBoxDescent]]
            .map(([a, b]) => [(matrix.a * a + matrix.c * b + matrix.e) / ratio, (matrix.b * a + matrix.d * b + matrix.f) / ratio]);
        const [xs, ys] = [corners.map((one) => one[0]), corners.map((one) => one[1])];
        window.textsDrawn.push({ text, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys), colour: this.fillStyle,
            alpha: this.globalAlpha, behind: fills.get(this.canvas), canvas: [...document.querySelectorAll('canvas')].indexOf(this.canvas),
            width: this.canvas.clientWidth, height: this.canvas.clientHeight });
        fillText.call(this, text, x, y);
    };
}
const twoFrames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
return twoFrames().then(() => {
    window.textsDrawn = [];
    (window.page ?? window.figure).draw();
    return twoFrames();
});
"""

CONTROLS = """
const shown = [...document.querySelectorAll('.tools button, .tools select, .tools input, .tools output')].filter((one) => one.getClientRects().length > 0);
return shown.map((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return { name: one.className || one.textContent, left, right, top, bottom, isCut: one.matches('button') && one.scrollWidth > one.clientWidth + 1 };
});
"""


def luminance(colour):
    channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def over(colour, alpha, paper):
    mixed = [round(alpha * int(colour[i:i + 2], 16) + (1 - alpha) * int(paper[i:i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{one:02x}" for one in mixed)


def contrast(first, second):
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def is_within(text, box):
    return text["left"] >= box["left"] - 0.5 and text["right"] <= box["right"] + 0.5


def drawn(browser):
    browser.run(RECORD)
    return [one for one in browser.run("return window.textsDrawn") if one["text"].strip()]


def faults_of_frames(browser):
    """Of a flame graph: each label stands in the frame that was filled before it, and can be read."""
    paper = "#16191d" if browser.run("return document.documentElement.dataset.theme") == "dark" else "#ffffff"
    for one in drawn(browser):
        behind = over(one["behind"]["colour"], one["behind"]["alpha"], paper)
        ink = over(one["colour"], one["alpha"], behind)
        if not is_within(one, one["behind"]):
            yield f"'{one['text']}' goes from {one['left']} to {one['right']}, its frame from {one['behind']['left']} to {one['behind']['right']}"
        if contrast(ink, behind) < CONTRAST_MIN:
            yield f"'{one['text']}' is {ink} on {behind}: {contrast(ink, behind):.1f}"


def faults_of_charts(browser):
    """Of a figure: texts stand within the canvas, apart from each other, and can be read."""
    paper = "#16191d" if browser.run("return document.documentElement.dataset.theme") == "dark" else "#ffffff"
    texts = drawn(browser)
    for i, one in enumerate(texts):
        if one["left"] < -0.5 or one["right"] > one["width"] + 0.5 or one["top"] < -0.5 or one["bottom"] > one["height"] + 0.5:
            yield f"'{one['text']}' leaves the canvas of {one['width']} × {one['height']}: {one['left']:.0f} to {one['right']:.0f}, {one['top']:.0f} to {one['bottom']:.0f}"
        box = one["behind"]
        is_inside = box and is_within(one, box) and box["top"] <= one["top"] and one["bottom"] <= box["bottom"]
        behind = over(box["colour"], box["alpha"], paper) if is_inside else paper
        if contrast(one["colour"], behind) < CONTRAST_MIN:
            yield f"'{one['text']}' is {one['colour']} on {behind}: {contrast(one['colour'], behind):.1f}"
        for other in texts[:i]:
            if min(one["right"], other["right"]) - max(one["left"], other["left"]) > 1 and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 1:
                yield f"'{one['text']}' overlaps '{other['text']}'"


def faults_of_controls(browser):
    width = browser.run("return innerWidth")
    if browser.run("return document.documentElement.scrollWidth") > width:
        yield f"the page is wider than {width} pixels"
    controls = browser.run(CONTROLS)
    for i, one in enumerate(controls):
        if one["left"] < 0 or one["right"] > width or one["isCut"]:
            yield f"{one['name']} is cut off: {one}"
        for other in controls[:i]:
            if min(one["right"], other["right"]) - max(one["left"], other["left"]) > 1.5 and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 1.5:
                yield f"{one['name']} overlaps {other['name']}"
