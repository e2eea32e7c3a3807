// src/axis.ts
function stepOf(range, most = 8) {
  const power = 10 ** Math.floor(Math.log10(Math.max(range, 1e-9) / most));
  return [1, 2, 5].map((factor) => factor * power).find((step) => range / step <= most * (1 + 1e-9)) ?? 10 * power;
}
function ticksOf(low, high, most = 8) {
  const step = stepOf(high - low, most);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9 && ticks.length <= 2 * most; i++) {
    ticks.push(i * step + 0);
  }
  return ticks;
}
function logTicksOf(low, high, most = 8) {
  const [first, last] = [Math.floor(Math.log10(Math.max(low, 1e-9))), Math.floor(Math.log10(Math.max(high, 1e-9)))];
  for (const [factors, every] of [[[1, 2, 5], 1], [[1], 1], [[1], 2], [[1], 3], [[1], 6]]) {
    const powers = Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((power) => power % every === 0);
    const ticks = powers.flatMap((power) => factors.map((factor) => factor * 10 ** power)).filter((tick) => tick >= low && tick <= high);
    if (ticks.length <= most) {
      return ticks;
    }
  }
  return [];
}
function shadeOfCount(count, most) {
  return most <= 1 ? 1 : Math.log(count) / Math.log(most);
}

// src/colours.ts
var kFirstHue = 28;
var kGoldenAngle = 137.508;
var kOneImage = 0.8;
var kKindHues = { kernel: 212, user: 28, inlined: 62, JIT: 140, interpreted: 292 };
function hashOf(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  }
  return hash >>> 8;
}
var Colours = class {
  constructor(profile, sums) {
    this.profile = profile;
    this.sums = sums;
    const numbers = [...profile.functionName.keys()];
    this.kinds = numbers.map((i) => this.kindOf(i));
    this.hashes = Uint32Array.from(numbers, (i) => hashOf(profile.name(i)));
    this.imageHues = this.rankHues((number) => profile.functionImage[number]);
    this.commandHues = this.rankHues((number) => profile.isCommand(number) ? number : -1);
  }
  profile;
  sums;
  kinds;
  // of functions; '': a command
  imageHues;
  commandHues;
  hashes;
  cache = /* @__PURE__ */ new Map();
  kindOf(number) {
    const image = this.profile.image(number);
    const isKernel = image.startsWith("[kernel") || image.startsWith("[guest.kernel") || image.endsWith(".ko]");
    return image === "" ? "" : isKernel ? "kernel" : image === "[JIT]" ? "JIT" : image === "[python]" ? "interpreted" : this.profile.name(number).endsWith(" (inlined)") ? "inlined" : "user";
  }
  // The most sampled first: they get the hues that are farthest apart.
  rankHues(keyOf) {
    const sums = /* @__PURE__ */ new Map();
    this.kinds.forEach((_, i) => keyOf(i) >= 0 && sums.set(keyOf(i), (sums.get(keyOf(i)) ?? 0) + this.sums.total[i]));
    const keys = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a) || a - b);
    return new Map(keys.map((key, rank) => [key, (kFirstHue + rank * kGoldenAngle) % 360]));
  }
  // The properties by which a page's frames are coloured.
  best() {
    const sums = /* @__PURE__ */ new Map();
    this.kinds.forEach((kind, i) => kind !== "" && kind !== "kernel" && sums.set(this.profile.functionImage[i], (sums.get(this.profile.functionImage[i]) ?? 0) + this.sums.self[i]));
    const values = [...sums.values()];
    return values.length > 0 && Math.max(...values) > kOneImage * values.reduce((a, b) => a + b) ? "function" : "image";
  }
  made(hue, saturation, shade, isDark) {
    const key = ((hue * 16 | 0) * 128 + saturation) * 64 + shade * 2 + (isDark ? 1 : 0);
    let text = this.cache.get(key);
    if (text === void 0) {
      text = isDark ? `hsl(${hue} ${saturation * 0.7}% ${27 + shade}%)` : `hsl(${hue} ${saturation}% ${74 + shade}%)`;
      this.cache.set(key, text);
    }
    return text;
  }
  // `command`: the one that the frame is of, or -1.
  of(by, number, command, isDark) {
    const kind = this.kinds[number] ?? "";
    if (by === "command" ? command < 0 : kind === "") {
      return isDark ? "#3d434b" : "#d5d9de";
    }
    const hash = this.hashes[number];
    const shade = hash % 9 - 4;
    switch (by) {
      case "command":
        return this.made(this.commandHues.get(command), 60, shade, isDark);
      case "function":
        return this.made(hash % 360, 65, shade, isDark);
      case "kind":
        return this.made(kKindHues[kind], 70, shade, isDark);
      case "image":
        return this.made(kind === "kernel" ? kKindHues.kernel : this.imageHues.get(this.profile.functionImage[number]), 70, shade, isDark);
    }
  }
  // The legend's text for a function's colour; '': none.
  keyOf(by, number) {
    return by === "command" ? this.profile.isCommand(number) ? this.profile.name(number) : "" : by === "kind" ? this.kinds[number] : this.kinds[number] === "" ? "" : by === "image" ? this.profile.image(number) : this.profile.name(number);
  }
  // `change`: 1 more, -1 less, 0 noise; `points`: difference of the frame's shares.
  static ofChange(change, points, isDark) {
    if (change === 0) {
      return isDark ? "#40454c" : "#dcdfe3";
    }
    const strength = Math.min(1, 0.35 + Math.sqrt(Math.abs(points)) * 2);
    const hue = change > 0 ? 8 : 215;
    return isDark ? `hsl(${hue} ${40 + 35 * strength}% ${30 + 14 * strength}%)` : `hsl(${hue} ${60 + 30 * strength}% ${88 - 26 * strength}%)`;
  }
};

// src/format.ts
function durationText(ns, range = ns, digits = 6) {
  const [unit, worth] = range >= 1e9 ? ["s", 1e9] : range >= 1e6 ? ["ms", 1e6] : range >= 1e3 ? ["us", 1e3] : ["ns", 1];
  return String(Number((ns / worth).toPrecision(digits))) + " " + unit;
}
function formatCount(value) {
  return Math.round(value).toLocaleString("en-US");
}
function formatAmount(value, unit) {
  return unit === "ns" ? durationText(value) : formatCount(value) + " " + unit;
}
function inUnit(parts, decimals) {
  const whole = typeof parts === "string" ? parts : String(Math.round(parts));
  if (decimals === 0) {
    return whole;
  }
  const padded = whole.padStart(decimals + 1, "0");
  const rest = padded.slice(-decimals).replace(/0+$/, "");
  return padded.slice(0, -decimals) + (rest === "" ? "" : "." + rest);
}
var kWorthNs = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
function quantityText(value, unit, range = value, digits = 6) {
  const worth = kWorthNs[unit];
  if (worth !== void 0) {
    return durationText(value * worth, range * worth, digits);
  }
  const isBytes = unit === "bytes";
  const base = isBytes ? 1024 : 1e3;
  const power = Math.min(4, Math.max(0, Math.floor(Math.log(Math.max(Math.abs(range), 1)) / Math.log(base) + 1e-9)));
  const prefix = ["", "k", "M", "G", "T"][power];
  const name = isBytes ? power === 0 ? unit : prefix.toUpperCase() + "iB" : [prefix, unit].filter((one) => one !== "").join(" ");
  return (Number((value / base ** power).toPrecision(digits)) + " " + name).trimEnd();
}

// src/layout.ts
function layOut(tree, total, bySize) {
  const left = new Float64Array(tree.count);
  const next = new Float64Array(tree.count);
  const place = (i) => {
    left[i] = next[tree.parent[i]];
    next[tree.parent[i]] += total[i];
    next[i] = left[i];
  };
  if (!bySize) {
    for (let i = 1; i < tree.count; i++) {
      place(i);
    }
    return left;
  }
  for (let i = 0; i < tree.count; i++) {
    const children = [];
    for (let child = i + 1; child < tree.end[i]; child = tree.end[child]) {
      children.push(child);
    }
    children.sort((a, b) => total[b] - total[a] || a - b);
    children.forEach(place);
  }
  return left;
}
function visitVisible(tree, total, left, view, draw) {
  const scale = view.width / (view.to - view.from);
  const lastPixel = new Int32Array(tree.depthMax + 2).fill(-1);
  let visited = 0;
  for (let i = 0; i < tree.count; ) {
    visited++;
    const x = (left[i] - view.from) * scale;
    const width = total[i] * scale;
    if (!(width > 0) || x + width <= 0 || x >= view.width || tree.depth[i] > view.lastDepth) {
      i = tree.end[i];
      continue;
    }
    const isSeen = tree.depth[i] >= view.firstDepth;
    if (width < view.least) {
      const pixel = Math.floor(x);
      if (isSeen && lastPixel[tree.depth[i]] !== pixel) {
        lastPixel[tree.depth[i]] = pixel;
        draw(i, pixel, 1);
      }
      i = tree.end[i];
      continue;
    }
    if (isSeen) {
      draw(i, x, width);
    }
    i++;
  }
  return visited;
}
function frameAt(tree, total, left, depth, sample) {
  let i = 0;
  if (depth < 0 || !(sample >= 0 && sample < total[0])) {
    return -1;
  }
  while (tree.depth[i] < depth) {
    let child = i + 1;
    for (; child < tree.end[i]; child = tree.end[child]) {
      if (sample >= left[child] && sample < left[child] + total[child]) {
        break;
      }
    }
    if (child >= tree.end[i]) {
      return -1;
    }
    i = child;
  }
  return i;
}

// src/link.ts
function changed(state, atFirst) {
  const words = Object.keys(state).filter((word) => state[word] !== void 0 && state[word] !== null && state[word] !== atFirst[word]);
  return Object.fromEntries(words.map((word) => [word, String(state[word])]));
}
function fragmentOf(state) {
  return Object.keys(state).map((word) => word + "=" + encodeURIComponent(state[word])).join("&");
}
function stateOf(fragment) {
  const state = {};
  for (const part of fragment.replace(/^#/, "").split("&")) {
    const at = part.indexOf("=");
    const word = part.slice(0, at);
    if (at > 0 && /^[a-z]+$/.test(word)) {
      try {
        state[word] = decodeURIComponent(part.slice(at + 1));
      } catch {
      }
    }
  }
  return state;
}
function numberOf(text, least, most) {
  const number = text !== void 0 && /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  return number >= least && number <= most ? number : null;
}

// src/names.ts
var Profile = class {
  // cells of frame i: from cellBegin[i] to cellBegin[i + 1]
  constructor(data) {
    this.data = data;
    this.functionCount = data.functions.name.length;
    this.functionName = Int32Array.from(data.functions.name);
    this.functionImage = Int32Array.from(data.functions.image);
    const count = data.frames.depth.length;
    this.frameDepth = new Int32Array(count + 1);
    this.frameFunction = new Int32Array(count + 1).fill(-1);
    for (let i = 0; i < count; i++) {
      this.frameDepth[i + 1] = data.frames.depth[i] + 1;
      this.frameFunction[i + 1] = data.frames.function[i];
    }
    const cells = data.cells;
    this.cellFrame = new Int32Array(cells.frame.length);
    for (let i = 0, frame = 1; i < cells.frame.length; i++) {
      frame += cells.frame[i];
      this.cellFrame[i] = frame;
    }
    this.cellSlice = Int32Array.from(cells.slice);
    this.cellValue = Float64Array.from(cells.value);
    this.cellBegin = new Int32Array(count + 2);
    for (let i = 0; i < this.cellFrame.length; i++) {
      this.cellBegin[this.cellFrame[i] + 1]++;
    }
    for (let i = 0; i <= count; i++) {
      this.cellBegin[i + 1] += this.cellBegin[i];
    }
    this.slices = sliceTimes(data.slices);
    this.before = data.before ? sliceTimes(data.before.slices) : null;
    this.sliceTotals = new Float64Array(this.slices.count + (this.before ? this.before.count : 0));
    for (let i = 0; i < this.cellSlice.length; i++) {
      this.sliceTotals[this.cellSlice[i]] += this.cellValue[i];
    }
    if (data.before) {
      const said = data.before.verdicts;
      said.function.forEach((number, i) => {
        const known = this.verdicts.get(number) || {};
        known[said.self[i] ? "self" : "total"] = { change: said.change[i], text: said.text[i] };
        this.verdicts.set(number, known);
      });
    }
  }
  data;
  functionCount;
  functionName;
  functionImage;
  frameDepth;
  frameFunction;
  slices;
  before;
  sliceTotals;
  verdicts = /* @__PURE__ */ new Map();
  cellFrame;
  cellSlice;
  cellValue;
  cellBegin;
  name(number) {
    return number < 0 ? "all" : this.data.strings[this.functionName[number]];
  }
  // '' for commands, and for all.
  image(number) {
    return number < 0 || this.functionImage[number] < 0 ? "" : this.data.strings[this.functionImage[number]];
  }
  isCommand(number) {
    return number >= 0 && this.functionImage[number] < 0;
  }
  // Samples that end in each frame, of slices [from, to).
  selfOf(from, to) {
    const self = new Float64Array(this.frameDepth.length);
    for (let i = 0; i < this.cellFrame.length; i++) {
      if (this.cellSlice[i] >= from && this.cellSlice[i] < to) {
        self[this.cellFrame[i]] += this.cellValue[i];
      }
    }
    return self;
  }
  // Adds the samples of frames [first, end) to `sums`, by slice.
  addSlices(first, end, sums) {
    for (let i = this.cellBegin[first]; i < this.cellBegin[end]; i++) {
      sums[this.cellSlice[i]] += this.cellValue[i];
    }
  }
};
function sliceTimes(slices) {
  return { startMs: Number(BigInt(slices.start_ns) / 1000n) / 1e3, widthMs: Number(slices.width_ns) / 1e6, count: slices.count };
}

// src/statistics.ts
var kGamma = [0.9999999999998099, 676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905, -0.13857109526572012, 9984369578019572e-21, 15056327351493116e-23];
function logGamma(x) {
  if (x < 0.5) {
    return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  }
  let sum = kGamma[0];
  for (let i = 1; i < 9; i++) {
    sum += kGamma[i] / (x - 1 + i);
  }
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}
function betaFraction(a, b, x) {
  const kSteps = 1e3;
  const tiny = 1e-300;
  let c = 1;
  let d = 1 - (a + b) * x / (a + 1);
  d = 1 / (Math.abs(d) < tiny ? tiny : d);
  let value = d;
  for (let m = 1; m <= kSteps; m++) {
    for (const term of [m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))]) {
      d = 1 + term * d;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = 1 + term / c;
      c = Math.abs(c) < tiny ? tiny : c;
      value *= d * c;
    }
    if (Math.abs(d * c - 1) < 1e-14) {
      break;
    }
  }
  return value;
}
function incompleteBeta(a, b, x) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * betaFraction(a, b, x) / a : 1 - front * betaFraction(b, a, 1 - x) / b;
}
function bisect(isBelow, low, high) {
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (isBelow(middle)) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return (low + high) / 2;
}
function betaQuantile(p, a, b) {
  return bisect((x) => incompleteBeta(a, b, x) < p, 0, 1);
}
function studentQuantile(tail, degrees) {
  const above = (t) => incompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return bisect((t) => above(t) > tail, 0, 1e6);
}
var kNormalQuantile = 1.959963984540054;
var kTail = 0.025;
function shareInterval(hits, counts, weightOfOne = 1, first = 0, end = counts.length, isIndependent = false) {
  let sum = 0;
  let count = 0;
  let clusters = 0;
  for (let i = first; i < end; i++) {
    sum += hits[i];
    count += counts[i];
    clusters += counts[i] > 0 ? 1 : 0;
  }
  if (count <= 0 || clusters < 2 && !isIndependent) {
    return null;
  }
  const share = Math.min(1, sum / count);
  let squares = 0;
  for (let i = first; i < end; i++) {
    squares += counts[i] > 0 ? (hits[i] - share * counts[i]) ** 2 : 0;
  }
  const independent = count * weightOfOne * share * (1 - share);
  const effect = independent > 0 && !isIndependent ? Math.max(1, clusters / (clusters - 1) * squares / independent) : 1;
  const excess = isIndependent ? 0 : effect * (studentQuantile(kTail, clusters - 1) / kNormalQuantile) ** 2 - 1;
  const worth = count / weightOfOne / (1 + Math.max(0, excess - 2 / ((clusters - 1) * excess)));
  const seen = share * worth;
  return {
    share,
    low: seen <= 0 ? 0 : betaQuantile(kTail, seen, worth - seen + 1),
    high: worth - seen <= 0 ? 1 : betaQuantile(1 - kTail, seen + 1, worth - seen),
    effect
  };
}

// src/tree.ts
function makeTree(depth, functions, self) {
  const count = depth.length;
  const end = new Int32Array(count);
  const parent = new Int32Array(count).fill(-1);
  const open = [];
  let depthMax = 0;
  for (let i = 0; i < count; i++) {
    while (open.length > depth[i]) {
      end[open.pop()] = i;
    }
    parent[i] = open.length ? open[open.length - 1] : -1;
    open.push(i);
    depthMax = Math.max(depthMax, depth[i]);
  }
  while (open.length) {
    end[open.pop()] = count;
  }
  return { count, depth, functions, end, parent, depthMax, self, total: totalsOf(parent, self) };
}
function totalsOf(parent, self) {
  const total = Float64Array.from(self);
  for (let i = parent.length - 1; i > 0; i--) {
    total[parent[i]] += total[i];
  }
  return total;
}
function outermostFrames(tree, number, first = 0) {
  const frames = [];
  for (let i = first; i < tree.end[first]; ) {
    if (tree.functions[i] === number) {
      frames.push(i);
      i = tree.end[i];
    } else {
      i++;
    }
  }
  return frames;
}
function largestFrame(tree, total, number) {
  let best = -1;
  for (let i = 1; i < tree.count; i++) {
    if (tree.functions[i] === number && total[i] > 0 && (best < 0 || total[i] > total[best])) {
      best = i;
    }
  }
  return best;
}
function functionSums(tree, functionCount, roots = [0]) {
  const self = new Float64Array(functionCount);
  const total = new Float64Array(functionCount);
  const openUntil = new Int32Array(functionCount);
  for (const first of roots) {
    for (let i = first; i < tree.end[first]; i++) {
      const number = tree.functions[i];
      if (number < 0) {
        continue;
      }
      self[number] += tree.self[i];
      if (i >= openUntil[number]) {
        total[number] += tree.total[i];
        openUntil[number] = tree.end[i];
      }
    }
  }
  return { self, total };
}
function restrictedTo(tree, kept) {
  const self = tree.self.map((value, i) => kept.has(i) ? value : 0);
  return { ...tree, self, total: totalsOf(tree.parent, self) };
}
var MergedFrame = class _MergedFrame {
  constructor(number) {
    this.number = number;
  }
  number;
  self = 0;
  children = /* @__PURE__ */ new Map();
  child(number) {
    let known = this.children.get(number);
    if (known === void 0) {
      known = new _MergedFrame(number);
      this.children.set(number, known);
    }
    return known;
  }
};
function flatten(root, compare) {
  const depth = [];
  const functions = [];
  const self = [];
  const open = [[root, 0]];
  while (open.length) {
    const [node, at] = open.pop();
    depth.push(at);
    functions.push(node.number);
    self.push(node.self);
    const children = [...node.children.values()].sort((a, b) => compare(b.number, a.number));
    for (const child of children) {
      open.push([child, at + 1]);
    }
  }
  return makeTree(Int32Array.from(depth), Int32Array.from(functions), Float64Array.from(self));
}
function calleesOf(tree, number, compare) {
  const root = new MergedFrame(number);
  const nodes = [];
  for (const first of outermostFrames(tree, number)) {
    for (let i = first; i < tree.end[first]; i++) {
      const level = tree.depth[i] - tree.depth[first];
      nodes[level] = level === 0 ? root : nodes[level - 1].child(tree.functions[i]);
      nodes[level].self += tree.self[i];
    }
  }
  return flatten(root, compare);
}
function callersOf(tree, number, compare) {
  const root = new MergedFrame(number);
  for (const first of outermostFrames(tree, number)) {
    let node = root;
    for (let i = tree.parent[first]; i > 0; i = tree.parent[i]) {
      node = node.child(tree.functions[i]);
    }
    node.self += tree.total[first];
  }
  return flatten(root, compare);
}
function invertedOf(tree, compare) {
  const root = new MergedFrame(tree.functions[0]);
  for (let i = 1; i < tree.count; i++) {
    if (tree.self[i] > 0) {
      let node = root;
      for (let at = i; at > 0; at = tree.parent[at]) {
        node = node.child(tree.functions[at]);
      }
      node.self += tree.self[i];
    }
  }
  root.self = tree.self[0];
  return flatten(root, compare);
}
function chainOf(tree, frame) {
  const chain = [];
  for (; frame > 0; frame = tree.parent[frame]) {
    chain.push(tree.functions[frame]);
  }
  return chain;
}
function hasChain(tree, frame, chain) {
  for (const number of chain) {
    if (frame <= 0 || tree.functions[frame] !== number) {
      return false;
    }
    frame = tree.parent[frame];
  }
  return true;
}
function sourcesOf(tree, inverted, frame) {
  const chain = chainOf(inverted, frame).reverse();
  return [...tree.self.keys()].filter((i) => hasChain(tree, i, chain));
}
function calledFramesOf(tree, callees, callee, callers, caller) {
  const called = chainOf(callees, callee);
  const calling = chainOf(callers, caller).reverse();
  const frames = [];
  for (const first of outermostFrames(tree, callees.functions[0])) {
    for (let i = first; i < tree.end[first] && hasChain(tree, tree.parent[first], calling); i++) {
      if (tree.depth[i] - tree.depth[first] === called.length && hasChain(tree, i, called)) {
        frames.push(i);
      }
    }
  }
  return frames;
}
export {
  Colours,
  Profile,
  betaQuantile,
  calledFramesOf,
  calleesOf,
  callersOf,
  changed,
  durationText,
  formatAmount,
  fragmentOf,
  frameAt,
  functionSums,
  inUnit,
  invertedOf,
  largestFrame,
  layOut,
  logTicksOf,
  makeTree,
  numberOf,
  outermostFrames,
  quantityText,
  restrictedTo,
  shadeOfCount,
  shareInterval,
  sourcesOf,
  stateOf,
  stepOf,
  studentQuantile,
  ticksOf,
  visitVisible
};
