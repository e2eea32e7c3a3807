// Wires the page: what is selected, shown and searched, and what the parts say to each other.
import { BasePage, element, formatAmount, formatCount, pageData, paragraph } from './base_page.js';
import { GraphView } from './canvas.js';
import { Colours } from './colours.js';
import { fragmentOf, numberOf, stateOf } from './link.js';
import { Profile, formatPercent } from './names.js';
import { shareInterval } from './statistics.js';
import { TimeStrip } from './strip.js';
import { FunctionTable } from './table.js';
import { calleesOf, callersOf, functionSums, invertedOf, largestFrame, makeTree, outermostFrames, sourcesOf, totalsOf } from './tree.js';

const kFunctionsOffered = 500;
const kViews = ['flame', 'icicle', 'inverted', 'sandwich'];
const kLinkDelayMs = 150;
const kIdDigits = 8;  // of a session, as in tables

class Page extends BasePage {
    constructor(profile) {
        super(profile.data);
        this.profile = profile;
        this.data = profile.data;
        this.slices = [0, profile.slices.count];
        this.tree = makeTree(profile.frameDepth, profile.frameFunction, profile.selfOf(...this.slices));
        this.isDiff = profile.before !== null;
        if (this.isDiff) {
            this.beforeSelf = profile.selfOf(profile.slices.count, profile.sliceTotals.length);
            this.beforeTotal = totalsOf(this.tree.parent, this.beforeSelf);
        }
        this.sums = functionSums(this.tree, profile.functionCount);
        if (this.isDiff) {
            this.beforeSums = functionSums({ ...this.tree, self: this.beforeSelf, total: this.beforeTotal }, profile.functionCount);
        }
        this.colours = new Colours(profile, this.sums.total);
        this.commands = this.commandsOf(this.tree);
        this.found = null;
        this.view = 'flame';
        this.inverted = null;
        this.sandwiched = -1;
        this.chosen = { frame: -1, number: -1 };  // selected last: of the tree, and its function
        this.colour = this.isDiff ? 'change' : 'image';
        this.graph = new GraphView(element('graph'), this);
        this.callers = new GraphView(element('callers-graph'), this);
        this.active = this.graph;
        this.compare = (a, b) => profile.name(a) < profile.name(b) ? -1 : profile.name(a) > profile.name(b) ? 1 : a - b;
        this.describe();
        this.addStrip();
        this.addTable();
        this.listen();
        this.show(false);
        this.onSelect(this.graph, 0);
        this.atFirst = this.state();
        this.follow();
    }

    // ---- links

    state() {
        const isPart = this.strip && !this.strip.isWhole();
        return {
            view: this.view,
            function: this.view === 'sandwich' ? this.profile.name(this.sandwiched) : null,
            colour: this.colour,
            order: element('order').value,
            width: element('width').value,
            search: element('search').value.trim() || null,
            from: isPart ? this.slices[0] : null,
            to: isPart ? this.slices[1] : null,
            zoom: this.graph.focus || null,
        };
    }

    // The address says what is shown, so that it can be copied, and reloading changes nothing.
    noteView() {
        if (this.atFirst) {
            clearTimeout(this.noting);
            this.noting = setTimeout(() => this.writeLink(), kLinkDelayMs);
        }
    }

    writeLink() {
        clearTimeout(this.noting);
        const fragment = fragmentOf(this.state(), this.atFirst);
        if ('#' + fragment !== (location.hash || '#')) {
            history.replaceState(null, '', fragment === '' ? location.pathname + location.search : '#' + fragment);
        }
    }

    copyLink() {
        this.writeLink();
        navigator.clipboard?.writeText(location.href).catch(() => {});
        element('live').textContent = 'link copied';
    }

    // Shows what the address says; what it doesn't, as at the beginning.
    follow() {
        const state = { ...this.atFirst, ...stateOf(location.hash) };
        const choose = (id, value) => {
            const option = [...element(id).options].find((one) => one.value === value && !one.disabled);
            element(id).value = option ? value : this.atFirst[id];
        };
        ['colour', 'order', 'width'].forEach((id) => choose(id, state[id]));
        this.colour = element('colour').value;
        this.view = kViews.includes(state.view) ? state.view : this.atFirst.view;
        if (this.view === 'sandwich' && state.function) {
            const number = this.functionNamed(state.function);
            this.sandwiched = number ?? this.sandwiched;
        }
        const from = numberOf(state.from ?? undefined, 0, this.profile.slices.count);
        const to = numberOf(state.to ?? undefined, 0, this.profile.slices.count);
        const isPart = from !== null && to !== null && from < to;
        this.strip?.select(isPart ? from : 0, isPart ? to : this.profile.slices.count);
        element('search').value = state.search ?? '';
        this.search(element('search').value);
        this.show(false);
        const zoom = numberOf(state.zoom ?? undefined, 1, this.graph.tree.count - 1);
        if (zoom !== null && this.graph.total[zoom] > 0) {
            this.graph.zoomTo(zoom);
            this.graph.select(zoom);
        }
    }

    functionNamed(name) {
        for (let i = 0; i < this.profile.functionCount; i++) {
            if (!this.profile.isCommand(i) && this.profile.name(i) === name) {
                return i;
            }
        }
        return undefined;
    }

    // ---- texts

    describe() {
        const { data } = this;
        const targets = new Set(data.sessions.map((session) => session.target));
        const count = (number, what) => formatCount(number) + ' ' + what + (number === 1 ? '' : 's');
        const named = data.sessions.length === 1 ? 'session ' + (data.sessions[0].name || data.sessions[0].id.slice(0, kIdDigits)) : count(data.session_count, 'session') + ' of ' + count(targets.size, 'target');
        element('subtitle').textContent = `${formatAmount(this.tree.total[0], data.unit)}, event ${data.event}, ${named}` + (this.isDiff ? `; compared with ${formatAmount(this.beforeTotal[0], data.unit)} ${data.before.name}` : '');
    }

    showLegend() {
        const legend = element('legend');
        legend.replaceChildren();
        const add = (colour, text) => {
            const swatch = document.createElement('span');
            swatch.className = 'swatch';
            swatch.style.background = colour;
            legend.append(swatch, text);
        };
        const isDark = this.isDark();
        if (this.colour === 'change') {
            add(Colours.ofChange(1, 0.1, isDark), 'more than ' + this.data.before.name);
            add(Colours.ofChange(-1, 0.1, isDark), 'less than ' + this.data.before.name);
            add(Colours.ofChange(0, 0, isDark), 'no difference shown: noise, or too few samples');
            return;
        }
        const keys = new Map();
        for (let i = 0; i < this.profile.functionCount; i++) {
            const key = this.colour === 'image' ? this.profile.image(i) : this.profile.isCommand(i) ? this.profile.name(i) : '';
            if (key !== '' && this.sums.self[i] + (this.colour === 'image' ? 0 : this.sums.total[i]) > (keys.get(key)?.value ?? 0)) {
                keys.set(key, { value: this.sums.self[i] + (this.colour === 'image' ? 0 : this.sums.total[i]), number: i });
            }
        }
        for (const [key, { number }] of [...keys].sort((a, b) => b[1].value - a[1].value).slice(0, 8)) {
            add(this.colour === 'image' ? this.colours.ofImage(number, isDark) : this.colours.ofCommand(number, number, isDark), key);
        }
    }

    // ---- what the views ask

    hasSearch() {
        return this.found !== null;
    }

    isFound(number) {
        return number >= 0 && this.found[number] === 1;
    }

    labelOf(frame, view) {
        return this.profile.name(view.tree.functions[frame]);
    }

    fillOf(frame, view) {
        const number = view.tree.functions[frame];
        const isDark = this.isDark();
        if (this.colour === 'change') {
            const verdict = view.tree === this.inverted ? this.verdictInside(frame) : this.verdictOf(number);
            return Colours.ofChange(verdict?.change ?? 0, view.tree === this.tree ? this.pointsOf(frame) : 0.1, isDark);
        }
        return this.colour === 'command' && view.tree === this.tree ? this.colours.ofCommand(this.commands[frame], number, isDark) : this.colours.ofImage(number, isDark);
    }

    commandsOf(tree) {
        const commands = new Int32Array(tree.count).fill(-1);
        for (let i = 1; i < tree.count; i++) {
            commands[i] = tree.depth[i] === 1 ? tree.functions[i] : commands[tree.parent[i]];
        }
        return commands;
    }

    verdictOf(number) {
        const verdict = this.profile.verdicts.get(number);
        return verdict?.total ?? verdict?.self;
    }

    // Of a frame of the inverted graph, whose samples are the innermost function's own.
    verdictInside(frame) {
        return this.profile.verdicts.get(this.innermostOf(frame))?.self;
    }

    innermostOf(frame) {
        const { parent, functions } = this.inverted;
        while (parent[frame] > 0) {
            frame = parent[frame];
        }
        return functions[frame];
    }

    // Difference of a frame's shares.
    pointsOf(frame) {
        return this.tree.total[frame] / Math.max(this.tree.total[0], 1) - this.beforeTotal[frame] / Math.max(this.beforeTotal[0], 1);
    }

    // ---- views

    shownTotal() {
        return this.isDiff && element('width').value === 'before' ? this.beforeTotal : this.tree.total;
    }

    show(keepZoom) {
        const isSandwich = this.view === 'sandwich';
        for (const name of kViews) {
            const button = element('view-' + name);
            button.setAttribute('aria-checked', String(this.view === name));
            button.tabIndex = this.view === name ? 0 : -1;
        }
        element('callers-graph').hidden = !isSandwich;
        element('sandwich-head').hidden = !isSandwich;
        const bySize = element('order').value === 'size';
        if (isSandwich) {
            this.showSandwich(bySize, keepZoom);
        } else if (this.view === 'inverted') {
            this.inverted = invertedOf(this.tree, this.compare);
            this.graph.show(this.inverted, this.inverted.total, { isFlame: true, bySize, keepZoom });
        } else {
            this.graph.show(this.tree, this.shownTotal(), { isFlame: this.view === 'flame', bySize, keepZoom });
        }
        this.showLegend();
        this.showSearchResult();
        this.noteView();
    }

    showSandwich(bySize, keepZoom) {
        if (this.sandwiched < 0) {
            this.sandwiched = this.sums.self.reduce((best, value, i) => value > this.sums.self[best] ? i : best, 0);
        }
        const number = this.sandwiched;
        element('sandwich-function').value = this.profile.name(number);
        element('sandwich-text').textContent = `${formatAmount(this.sums.total[number], this.data.unit)}, ${formatPercent(this.share(this.sums.total[number]))}: callers above, callees below`;
        const callers = callersOf(this.tree, number, this.compare);
        const callees = calleesOf(this.tree, number, this.compare);
        this.callers.show(callers, callers.total, { isFlame: true, bySize, keepZoom });
        this.graph.show(callees, callees.total, { isFlame: false, bySize, keepZoom });
    }

    setView(view) {
        if (view === 'sandwich' && this.active.selected > 0) {
            this.sandwiched = this.active.tree.functions[this.active.selected];
        }
        const changes = view !== this.view;
        const keeps = changes && (view === 'flame' || view === 'icicle') && this.graph.tree === this.tree;
        this.view = view;
        this.show(keeps);
        this.active = this.graph;
        if (changes && !keeps) {
            this.chooseAgain();
        }
    }

    // Selects in another view what was selected, or the largest frame of its function.
    chooseAgain() {
        const { frame, number } = this.chosen;
        const { tree, total } = this.graph;
        const again = this.view === 'sandwich' ? (number === this.sandwiched ? 0 : -1) : tree === this.tree && frame > 0 ? frame : largestFrame(tree, total, number);
        if (number >= 0 && again >= 0) {
            this.graph.select(again);
        }
    }

    setSlices(from, to) {
        this.slices = [from, to];
        this.tree.self = this.profile.selfOf(from, to);
        this.tree.total = totalsOf(this.tree.parent, this.tree.self);
        this.sums = functionSums(this.tree, this.profile.functionCount);
        this.show(true);
        this.fillTable();
        this.onSelect(this.active, this.active.selected);
        this.showRange();
    }

    share(value) {
        return value / Math.max(this.tree.total[0], 1);
    }

    // ---- intervals

    // Of the share of frames [frames] with all they call, or of those alone; null: none can be told.
    interval(frames, isSelf) {
        if (!this.data.sampled) {
            return null;
        }
        const hits = this.slicesOf(frames, isSelf);
        return shareInterval(hits, this.profile.sliceTotals, this.data.weight_of_one, ...this.slices);
    }

    slicesOf(frames, isSelf) {
        const hits = new Float64Array(this.profile.sliceTotals.length);
        for (const frame of frames) {
            this.profile.addSlices(frame, isSelf ? frame + 1 : this.tree.end[frame], hits);
        }
        return hits;
    }

    shareText(value, frames, isSelf) {
        const interval = this.interval(frames, isSelf);
        return formatPercent(this.share(value)) + (interval ? `  [${(100 * interval.low).toFixed(2)}, ${(100 * interval.high).toFixed(2)}]` : '');
    }

    framesOf(number, first = 0) {
        const frames = [];
        for (let i = first; i < this.tree.end[first]; i++) {
            if (this.tree.functions[i] === number) {
                frames.push(i);
            }
        }
        return frames;
    }

    // ---- selected frame, tip

    onHover(view, frame, event) {
        if (frame < 0 || event.pointerType === 'touch') {
            this.hideTip();
            return;
        }
        const number = view.tree.functions[frame];
        const lines = [this.profile.image(number), this.countText(view, frame)];
        if (this.isDiff && view.tree === this.tree) {
            lines.push(this.data.before.name + ' ' + this.beforeText(frame), this.verdictOf(number)?.text);
        } else if (this.isDiff && view.tree === this.inverted) {
            lines.push(this.data.before.name + ' ' + this.beforeInsideText(frame), this.verdictInside(frame)?.text);
        }
        this.showTip(event, this.profile.name(number), lines.filter(Boolean));
    }

    countText(view, frame) {
        const { tree } = view;
        if (tree === this.inverted) {  // all of it is what the innermost function spends itself
            return `${formatAmount(tree.total[frame], this.data.unit)}, ${formatPercent(this.share(tree.total[frame]))}`;
        }
        return `${formatAmount(tree.total[frame], this.data.unit)}, ${formatPercent(this.share(tree.total[frame]))}; self ${formatAmount(tree.self[frame], this.data.unit)}, ${formatPercent(this.share(tree.self[frame]))}`;
    }

    beforeText(frame) {
        const before = this.beforeTotal[frame] / Math.max(this.beforeTotal[0], 1);
        const points = 100 * this.pointsOf(frame);
        return `${formatPercent(before)}, now ${points >= 0 ? '+' : ''}${points.toFixed(2)} points`;
    }

    // Of a frame of the inverted graph.
    beforeInsideText(frame) {
        const value = sourcesOf(this.tree, this.inverted, frame).reduce((sum, i) => sum + this.beforeSelf[i], 0);
        const before = value / Math.max(this.beforeTotal[0], 1);
        const points = 100 * (this.share(this.inverted.total[frame]) - before);
        return `${formatPercent(before)}, now ${points >= 0 ? '+' : ''}${points.toFixed(2)} points`;
    }

    onZoom() {
        this.noteView();
        if (this.table && this.zoomedFrame() !== this.listedWithin) {
            this.fillTable();
        }
    }

    // The frame whose functions are listed: the zoomed one, else the root.
    zoomedFrame() {
        return this.graph.tree === this.tree ? this.graph.focus : 0;
    }

    onSelect(view, frame) {
        this.active = view;
        const section = element('frame');
        if (frame < 0) {
            section.replaceChildren(paragraph('Click a frame, or walk along frames with the arrow keys.'));
            this.strip?.mark(null);
            this.chosen = { frame: -1, number: -1 };
            return;
        }
        const { tree } = view;
        const number = tree.functions[frame];
        const isOfTree = tree === this.tree;
        const isSame = number === this.chosen.number;
        this.chosen = { frame: isOfTree ? frame : isSame ? this.chosen.frame : -1, number };
        const head = document.createElement('h2');
        head.textContent = this.profile.name(number);
        const list = document.createElement('dl');
        const add = (term, text, style) => {
            const name = document.createElement('dt');
            const value = document.createElement('dd');
            name.textContent = term;
            value.textContent = text;
            value.className = style || '';
            list.append(name, value);
        };
        const isInverted = tree === this.inverted && frame > 0;
        const sources = isInverted ? sourcesOf(this.tree, tree, frame) : [];
        const amount = (value, share) => `${formatAmount(value, this.data.unit)}, ${share}`;
        if (number >= 0) {  // as in the list of functions
            add('total', amount(this.sums.total[number], this.shareText(this.sums.total[number], outermostFrames(this.tree, number), false)));
            add('self', amount(this.sums.self[number], this.shareText(this.sums.self[number], this.framesOf(number), true)));
        }
        const [total, self] = [tree.total[frame], tree.self[frame]];
        if (isInverted) {
            add('in this chain', amount(total, this.shareText(total, sources, true)));
        } else if (number < 0) {
            add('total', amount(total, formatPercent(this.share(total))));
        } else if (total !== this.sums.total[number] || self !== this.sums.self[number]) {
            add('this frame', amount(total, isOfTree ? this.shareText(total, [frame], false) : formatPercent(this.share(total))));
            add('its self', amount(self, isOfTree ? this.shareText(self, [frame], true) : formatPercent(this.share(self))));
        }
        if (tree.parent[frame] > 0) {
            add('of caller', formatPercent(total / Math.max(tree.total[tree.parent[frame]], 1)));
        }
        if (this.isDiff && isOfTree) {
            add(this.data.before.name, this.beforeText(frame));
            const verdict = this.profile.verdicts.get(number);
            for (const [figure, said] of Object.entries(verdict || {})) {
                add('diff, ' + figure, said.text, styleOf(said));
            }
        } else if (this.isDiff && isInverted) {
            add(this.data.before.name, this.beforeInsideText(frame));
            const verdict = this.verdictInside(frame);
            if (verdict) {
                add('diff, self of ' + this.profile.name(this.innermostOf(frame)), verdict.text, styleOf(verdict));
            }
        }
        const buttons = document.createElement('div');
        const button = (text, act) => {
            const made = document.createElement('button');
            made.type = 'button';
            made.textContent = text;
            made.addEventListener('click', act);
            buttons.append(made, ' ');
        };
        button('Zoom', () => view.zoomTo(frame));
        if (number >= 0 && !this.profile.isCommand(number)) {
            button('Callers and callees', () => this.setView('sandwich'));
        }
        button('Copy name', () => navigator.clipboard?.writeText(this.profile.name(number)).catch(() => {}));
        section.replaceChildren(head, paragraph(number < 0 ? 'everything that is selected' : this.profile.image(number) || 'command'), list, buttons);
        element('live').textContent = `${this.profile.name(number)}, ${this.profile.image(number)}, ${this.countText(view, frame)}, depth ${tree.depth[frame]}`;
        this.table?.mark(number);
        this.strip?.mark(frame > 0 && (isOfTree || isInverted) ? this.slicesOf(isOfTree ? [frame] : sources, isInverted).subarray(0, this.profile.slices.count) : null);
    }

    // ---- time

    addStrip() {
        const { slices, sliceTotals } = this.profile;
        element('strip-section').hidden = slices.count < 2;
        if (slices.count >= 2) {
            this.strip = new TimeStrip(element('strip'), this, sliceTotals.subarray(0, slices.count), (from, to) => this.setSlices(from, to));
        }
        this.showRange();
    }

    showRange() {
        const { startMs, widthMs } = this.profile.slices;
        const at = (slice) => new Date(startMs + slice * widthMs).toISOString();
        const seconds = (this.slices[1] - this.slices[0]) * widthMs / 1000;
        element('strip-text').textContent = `${at(this.slices[0])} to ${at(this.slices[1])}, ${seconds.toPrecision(3)} s, ${formatAmount(this.tree.total[0], this.data.unit)}` + (this.strip && !this.strip.isWhole() ? ' (click the strip for all)' : '; drag to select a part');
    }

    // ---- table

    addTable() {
        const percent = (value) => (100 * this.share(value)).toFixed(2);
        const columns = [
            { title: 'self %', value: (i) => this.listed.self[i], text: (i) => percent(this.listed.self[i]), isSorted: true, hint: (i) => `${formatAmount(this.listed.self[i], this.data.unit)}, ${this.shareText(this.listed.self[i], this.framesOf(i, this.listedWithin), true)}` },
            { title: 'total %', value: (i) => this.listed.total[i], text: (i) => percent(this.listed.total[i]), hint: (i) => `${formatAmount(this.listed.total[i], this.data.unit)}, ${this.shareText(this.listed.total[i], outermostFrames(this.tree, i, this.listedWithin), false)}` },
        ];
        if (this.isDiff) {
            const change = (i) => this.share(this.listed.total[i]) - this.listedBefore.total[i] / Math.max(this.beforeTotal[0], 1);
            columns.push({
                title: 'change', value: (i) => this.verdictOf(i)?.change ? Math.abs(change(i)) + 1 : Math.abs(change(i)) * 1e-3, text: (i) => (change(i) >= 0 ? '+' : '') + (100 * change(i)).toFixed(2),
                style: (i) => styleOf(this.verdictOf(i)), hint: (i) => this.verdictOf(i)?.text ?? 'fewer samples than diff compares',
            });
        }
        columns.push({ title: 'function', isText: true, isName: true, value: (i) => this.profile.name(i), text: (i) => this.profile.name(i) });
        columns.push({ title: 'image', isText: true, value: (i) => this.profile.image(i), text: (i) => this.profile.image(i).split('/').pop() });
        this.table = new FunctionTable(document.querySelector('.table'), columns, (number) => {
            this.sandwiched = number;
            this.graph.selected = this.callers.selected = -1;
            this.setView('sandwich');
            this.graph.select(0);
        });
        this.fillTable();
        const offered = this.functionNumbers().sort((a, b) => this.sums.total[b] - this.sums.total[a]).slice(0, kFunctionsOffered);
        element('function-list').replaceChildren(...offered.map((number) => new Option(this.profile.name(number))));
    }

    functionNumbers() {
        const numbers = [];
        for (let i = 0; i < this.profile.functionCount; i++) {
            if (!this.profile.isCommand(i) && (this.listed.total[i] > 0 || (this.isDiff && this.listedBefore.total[i] > 0)) && (!this.found || this.found[i])) {
                numbers.push(i);
            }
        }
        return numbers;
    }

    fillTable() {
        const first = this.listedWithin = this.zoomedFrame();
        this.listed = first === 0 ? this.sums : functionSums(this.tree, this.profile.functionCount, first);
        if (this.isDiff) {
            this.listedBefore = first === 0 ? this.beforeSums : functionSums({ ...this.tree, self: this.beforeSelf, total: this.beforeTotal }, this.profile.functionCount, first);
        }
        const numbers = this.functionNumbers();
        const within = first === 0 ? '' : ` within ${this.profile.name(this.tree.functions[first])}`;
        element('table-count').textContent = `(${formatCount(numbers.length)}${within}; 95 % intervals on hover)`;
        this.table.show(numbers);
    }

    // ---- search

    search(text) {
        const trimmed = text.trim();
        this.found = null;
        let isBad = false;
        if (trimmed !== '') {
            let matches = (name) => name.toLowerCase().includes(trimmed.toLowerCase());
            if (trimmed.length > 2 && trimmed.startsWith('/') && trimmed.endsWith('/')) {
                try {
                    const pattern = new RegExp(trimmed.slice(1, -1), 'i');
                    matches = (name) => pattern.test(name);
                } catch {
                    isBad = true;
                }
            }
            if (!isBad) {
                this.found = Uint8Array.from({ length: this.profile.functionCount }, (_, i) => matches(this.profile.name(i)) ? 1 : 0);
            }
        }
        element('search').setAttribute('aria-invalid', String(isBad));
        this.showSearchResult(isBad);
        this.fillTable();
        this.graph.draw();
        this.callers.draw();
        this.noteView();
    }

    showSearchResult(isBad = false) {
        const { tree, total } = this.graph;
        if (!this.found || isBad) {
            element('search-result').textContent = isBad ? 'no valid pattern' : '';
            return;
        }
        let frames = 0;
        let samples = 0;
        let until = 0;
        for (let i = 1; i < tree.count; i++) {
            if (this.isFound(tree.functions[i]) && total[i] > 0) {
                frames++;
                samples += i >= until ? total[i] : 0;
                until = Math.max(until, tree.end[i]);
            }
        }
        const functions = this.found.reduce((sum, one) => sum + one, 0);
        element('search-result').textContent = `${formatCount(functions)} functions, ${formatCount(frames)} frames, ${formatPercent(samples / Math.max(total[0], 1))}`;
    }

    nextFound(step) {
        const view = this.graph;
        if (!this.found) {
            return;
        }
        const { tree, total } = view;
        for (let tried = 1, i = Math.max(view.selected, 0); tried <= tree.count; tried++) {
            i = (i + step + tree.count) % tree.count;
            if (this.isFound(tree.functions[i]) && total[i] > 0) {
                view.select(i);
                return;
            }
        }
    }

    // ---- events

    draw() {
        this.graph.draw();
        this.callers.draw();
        this.strip?.draw();
        this.showLegend();
    }

    listen() {
        for (const view of kViews) {
            element('view-' + view).addEventListener('click', () => this.setView(view));
        }
        document.querySelector('.group').addEventListener('keydown', (event) => {
            const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
            if (step) {
                const next = kViews[(kViews.indexOf(this.view) + step + kViews.length) % kViews.length];
                this.setView(next);
                element('view-' + next).focus();
            }
        });
        element('order').addEventListener('change', () => this.show(true));
        element('width').addEventListener('change', () => this.show(true));
        element('colour').addEventListener('change', (event) => {
            this.colour = event.target.value;
            this.show(true);
        });
        if (this.isDiff) {
            const option = element('colour').querySelector('[value=change]');
            option.hidden = option.disabled = false;
            element('colour').value = 'change';
            element('width-label').hidden = false;
        }
        element('search').addEventListener('input', (event) => this.search(event.target.value));
        element('search').addEventListener('keydown', (event) => {
            if (event.key === 'Enter') {
                this.nextFound(event.shiftKey ? -1 : 1);
            } else if (event.key === 'Escape') {
                event.target.value = '';
                this.search('');
                this.graph.canvas.focus();
            }
        });
        element('search-next').addEventListener('click', () => this.nextFound(1));
        element('search-previous').addEventListener('click', () => this.nextFound(-1));
        element('link').addEventListener('click', () => this.copyLink());
        window.addEventListener('hashchange', () => this.follow());
        element('reset').addEventListener('click', () => this.reset());
        element('sandwich-function').addEventListener('change', (event) => {
            const number = this.functionNumbers().find((one) => this.profile.name(one) === event.target.value);
            if (number !== undefined) {
                this.sandwiched = number;
                this.show(false);
            }
        });
        this.listenToKeys({
            '/': () => element('search').focus(),
            n: () => this.nextFound(1),
            N: () => this.nextFound(-1),
            f: () => this.setView('flame'),
            i: () => this.setView('icicle'),
            v: () => this.setView('inverted'),
            s: () => this.setView('sandwich'),
            l: () => this.copyLink(),
            0: () => this.reset(),
            Escape: () => this.reset(),
        });
    }

    reset() {
        this.graph.zoomTo(0, true);
        if (this.view === 'sandwich') {
            this.callers.zoomTo(0, true);
        }
    }
}

function styleOf(verdict) {
    return !verdict?.change ? 'noise' : verdict.change > 0 ? 'more' : 'less';
}

window.page = new Page(new Profile(await pageData()));
